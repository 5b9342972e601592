// SPDX-License-Identifier: Apache-2.0
// The one way in which headwayd puts an element into a BPF map.
//
// The kernel takes the elements of a map without preallocation, as tables of prefixes have to be, from a small
// reserve of each processor, which an interrupt refills.  An update that comes before the refill fails with
// ENOMEM, however much memory there is (kernel/bpf/memalloc.c; hash maps since Linux 6.1, prefixes since 6.14).
#pragma once

#include <cstdint>
#include <functional>

namespace headway {

/// How often an update without memory is tried, a millisecond after the one before: what is really without memory
/// is told after a tenth of a second.
inline constexpr int map_update_attempts = 100;

/// Repeats `update` while it answers -ENOMEM, until the last attempt, and returns its last answer
/// (0, or -errno); calls `pause` between two.
int repeated_without_memory(const std::function<int()>& update, const std::function<void()>& pause);

/// bpf_map_update_elem(), repeated while the reserve is empty: 0, or -errno.
int update_map(int fd, const void* key, const void* value, std::uint64_t flags);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// What the plan of an all-to-all means to one node, for people.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/alltoall_plan.hpp"

namespace headway {

/// The rate at which a node may send to all remote clusters together: its MATB.
[[nodiscard]] BytesPerSecond remote_rate(const AllToAllPlan& plan, std::size_t cluster);

/// Bytes in flight that one pair needs to use its rate: x times the round trip
/// over the trunks.  Sockets with smaller buffers are slower than planned.
[[nodiscard]] std::uint64_t pair_window_bytes(const AllToAllPlan& plan, const Topology& topology,
                                              std::size_t from, std::size_t to);

}  // namespace headway

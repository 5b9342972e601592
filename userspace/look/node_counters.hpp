// SPDX-License-Identifier: Apache-2.0
// What the kernel counts of a node beside TCP: where it drops received packets, and who waits for a processor.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace headway {

/// "softnet_drops": packets that found a processor's backlog full; "conntrack_drops": those that connection
/// tracking has dropped; "processor_waits_us": time in which some process waited for a processor; and
/// "memory_pages".  What the kernel does not tell is left out.
[[nodiscard]] std::map<std::string, std::uint64_t> node_counters();

// Readers of what the kernel says, for tests.

/// The sum of a column of /proc/net/softnet_stat, in hexadecimal, one line for each processor.
[[nodiscard]] std::uint64_t softnet_column(const std::string& text, std::size_t column);
/// The sum of a column of /proc/net/stat/nf_conntrack, by its name in the first line.
[[nodiscard]] std::uint64_t conntrack_column(const std::string& text, const std::string& name);
/// The time in which "some" had to wait, of a file below /proc/pressure, in microseconds.
[[nodiscard]] std::uint64_t pressure_us(const std::string& text);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// The node's own TCP counters that tell of lost packets: what pacing is to prevent.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headway {

struct TcpCounters {
    std::uint64_t timeouts = 0;         ///< TCPTimeouts of /proc/net/netstat
    std::uint64_t retransmissions = 0;  ///< RetransSegs of /proc/net/snmp, segments
};

/// A line of names and one of numbers, each behind "Prefix:"; none: it is not there.
[[nodiscard]] std::optional<std::uint64_t> proc_net_counter(std::string_view text,
                                                            std::string_view prefix,
                                                            std::string_view name);

/// Of the network namespace that this process is in; none: the kernel does not say.
[[nodiscard]] std::optional<TcpCounters> read_tcp_counters();

}  // namespace headway

// SPDX-License-Identifier: MIT
// This process's TCP connections to the other processes of its job, for the report.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "own_network.hpp"

namespace headway::glue {

/// Of connections that are open.
struct ConnectionCounters {
    std::uint64_t connections = 0;
    std::uint64_t retransmissions = 0;  ///< segments; a probe of what had arrived is none
    std::optional<std::uint64_t> timeouts = 0;  ///< none: the kernel does not count them by socket

    void add(const ConnectionCounters& other) {
        connections += other.connections;
        retransmissions += other.retransmissions;
        timeouts = timeouts && other.timeouts ? std::optional(*timeouts + *other.timeouts)
                                              : std::nullopt;
    }
};

/// Of those whose other end is at one of the addresses.  It needs /proc and no right.
[[nodiscard]] ConnectionCounters count_own_connections(const std::set<Address>& others);

}  // namespace headway::glue

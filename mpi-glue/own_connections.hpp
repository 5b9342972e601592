// SPDX-License-Identifier: MIT
// This process's TCP connections to the other processes of its job: what the kernel counts of them, for
// the report, and how long it waits before it sends again what was lost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>

#include "own_network.hpp"

namespace headway::glue {

/// Counters of connections that are open.
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

/// Counts connections whose other end is at one of the addresses.  It needs /proc and no right.
[[nodiscard]] ConnectionCounters count_own_connections(const std::set<Address>& others);

/// Sets an option of a TCP socket to so many microseconds; false: the kernel refuses.
using SetSocketTime = std::function<bool(int socket, int option, int us)>;
[[nodiscard]] bool set_socket_time(int socket, int option, int us);

/// How long a connection waits at least before it sends again, and at most before it acknowledges: the
/// shortest of some times for which a process may ask; none: it may not ask (Linux before 6.15).
[[nodiscard]] std::optional<int> shortest_wait_us(const SetSocketTime& set = set_socket_time);

/// Descriptors of this process's TCP sockets.
[[nodiscard]] std::set<int> own_tcp_sockets();

/// Gives that wait to the connections whose other end is at one of the addresses, but for `spared`
/// descriptors.  Both ends of a connection need it: who sends again after a shorter time than the other
/// one waits with its acknowledgment sends in vain.  Returns how many connections have it now.
[[nodiscard]] int shorten_waits(const std::set<Address>& others, const std::set<int>& spared, int us,
                                const SetSocketTime& set = set_socket_time);

}  // namespace headway::glue

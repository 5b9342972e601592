// SPDX-License-Identifier: Apache-2.0
// Sockets of an agent, IPv4 and IPv6 alike.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/host_address.hpp"

namespace headway {

struct BoundSocket {
    FileDescriptor fd;
    std::uint16_t port = 0;
};

enum class SocketKind { datagram, listener };

/// On every address of this host.  Datagrams come with the kernel's own time of arrival.
/// `port` 0: whichever is free.
[[nodiscard]] Result<BoundSocket> bind_socket(SocketKind kind, std::uint16_t port);

/// Every router on its way takes one of it.
inline constexpr int frames_hop_limit = 64;

/// Datagrams leave with that hop limit; each that arrives is told with what is left of it, and with the address and
/// the interface that it came to.
void tell_routes(int fd, int family);

/// Now, in CLOCK_REALTIME, the clock of the kernel's receive timestamps.
[[nodiscard]] std::int64_t arrival_clock_ns();

}  // namespace headway

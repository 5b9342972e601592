// SPDX-License-Identifier: Apache-2.0
// Sockets of an agent, IPv4 and IPv6 alike.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace headway {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;

    [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    [[nodiscard]] int family() const { return storage.ss_family; }
    /// Of IP and UDP.
    [[nodiscard]] std::uint32_t udp_header_bytes() const { return family() == AF_INET6 ? 48 : 28; }
};

/// The first address of a name, or an address as text.
[[nodiscard]] Result<std::string> resolve_host(const std::string& name);
/// An address as text and a port.
[[nodiscard]] Result<SocketAddress> socket_address(const std::string& address, std::uint16_t port);

struct BoundSocket {
    FileDescriptor fd;
    std::uint16_t port = 0;
};

enum class SocketKind { datagram, listener };

/// On every address of this host.  Datagrams come with the kernel's own time of arrival.
/// `port` 0: whichever is free.
[[nodiscard]] Result<BoundSocket> bind_socket(SocketKind kind, std::uint16_t port);

/// Of CLOCK_REALTIME, which is what the kernel's times of arrival are of.
[[nodiscard]] std::int64_t arrival_clock_ns();

}  // namespace headway

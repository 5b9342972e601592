// SPDX-License-Identifier: Apache-2.0
// Addresses of hosts, IPv4 and IPv6 alike.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace headway {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;

    [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    [[nodiscard]] int family() const { return storage.ss_family; }
    /// Bytes that the headers of IP and UDP take.
    [[nodiscard]] std::uint32_t udp_header_bytes() const { return family() == AF_INET6 ? 48 : 28; }
};

/// The first address of a name, or an address as text.
[[nodiscard]] Result<std::string> resolve_host(const std::string& name);
/// An address as text and a port.
[[nodiscard]] Result<SocketAddress> socket_address(const std::string& address, std::uint16_t port);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// The node's TCP connections, as the kernel's socket diagnosis tells of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <linux/netlink.h>

#include "base/error.hpp"
#include "base/ip_prefix.hpp"
#include "kernel/netlink_message.hpp"
#include "kernel/netlink_transport.hpp"

namespace headway {

/// A connection as the kernel counts it, from its beginning.
struct TcpFlow {
    std::uint64_t cookie = 0;  ///< the kernel's number of the socket, never used twice
    IpPrefix remote;           ///< one address
    std::uint64_t segments = 0;         ///< with data, sent; retransmissions included
    std::uint64_t retransmissions = 0;  ///< segments
    std::optional<std::uint32_t> timeouts;  ///< none: the kernel does not count them by socket
    std::uint32_t rtt_us = 0;               ///< smoothed; 0: not measured yet

    friend bool operator==(const TcpFlow&, const TcpFlow&) = default;
};

/// Asks for the connections of a family that may have data to send.
[[nodiscard]] NetlinkMessage encode_tcp_dump(IpFamily family);

/// One message of the answer; none: it tells nothing of a connection.
[[nodiscard]] std::optional<TcpFlow> decode_tcp_flow(const nlmsghdr* message);

/// Of this network namespace, both families.  `transport` is of NETLINK_SOCK_DIAG.
[[nodiscard]] Result<std::vector<TcpFlow>> read_tcp_flows(NetlinkTransport& transport);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// The node's TCP connections, as the kernel's socket diagnosis tells of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <linux/netlink.h>

#include "base/error.hpp"
#include "base/ip_prefix.hpp"
#include "kernel/netlink_exchange.hpp"
#include "look/tcp_counters.hpp"

namespace headway {

/// A connection as the kernel counts it.
struct TcpFlow : TcpInfoCounts {
    std::uint64_t cookie = 0;  ///< the kernel's number of the socket, never used twice
    IpPrefix remote;           ///< one address

    friend bool operator==(const TcpFlow&, const TcpFlow&) = default;
};

/// Asks for the connections of a family that may have data to send, to these destinations; to any if
/// there are none, or too many for a message.
[[nodiscard]] NetlinkMessage encode_tcp_dump(IpFamily family, std::span<const IpPrefix> destinations = {});

/// One message of the answer; none: it tells nothing of a connection.
[[nodiscard]] std::optional<TcpFlow> decode_tcp_flow(const nlmsghdr* message);

/// Reads the flows of this network namespace, of both families.  `transport` is of
/// NETLINK_SOCK_DIAG.  The result may have connections to others than these destinations as well
/// (encode_tcp_dump()).
[[nodiscard]] Result<std::vector<TcpFlow>> read_tcp_flows(NetlinkTransport& transport,
                                                          std::span<const IpPrefix> destinations = {});

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// Which way the kernel would send a packet: RTM_GETROUTE.
#pragma once

#include <optional>
#include <string>

#include "base/ip_prefix.hpp"
#include "kernel/netlink_attributes.hpp"
#include "kernel/netlink_exchange.hpp"

namespace headway {

/// `address`: text of an IPv4 or IPv6 address.
[[nodiscard]] Result<NetlinkMessage> encode_route_query(const std::string& address);

/// Returns the attributes of a message that tells of a route; none: it tells of something else.
[[nodiscard]] std::optional<AttributeTable<RTA_MAX>> route_attributes(const nlmsghdr* message);

/// The name of the interface by which packets to the address leave; "": the kernel does not tell.
[[nodiscard]] std::string interface_towards(NetlinkExchange& kernel, const std::string& address);

/// The least retransmission time-out of TCP towards the first address in there: the route's `rto_min`, or the
/// system's (net.ipv4.tcp_rto_min_us, from Linux 6.11 on), or Linux' own.  None: there is no route, or the address
/// is this node's.
[[nodiscard]] std::optional<double> least_timeout_s(NetlinkExchange& kernel, IpPrefix prefix);

/// The name of an interface; "": there is none of that number.
[[nodiscard]] std::string interface_name(unsigned ifindex);

}  // namespace headway

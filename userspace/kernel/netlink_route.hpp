// SPDX-License-Identifier: Apache-2.0
// Which way the kernel would send a packet: RTM_GETROUTE.
#pragma once

#include <string>

#include "kernel/netlink_exchange.hpp"

namespace headway {

/// `address`: text of an IPv4 or IPv6 address.
[[nodiscard]] Result<NetlinkMessage> encode_route_query(const std::string& address);

/// The name of the interface by which packets to the address leave; "": the kernel does not tell.
[[nodiscard]] std::string interface_towards(NetlinkExchange& kernel, const std::string& address);

/// The name of an interface; "": there is none of that number.
[[nodiscard]] std::string interface_name(unsigned ifindex);

}  // namespace headway

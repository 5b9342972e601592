// SPDX-License-Identifier: Apache-2.0
// Who answers on this node's networks: RTM_GETNEIGH.
#pragma once

#include <optional>
#include <string>

#include "kernel/netlink_exchange.hpp"

namespace headway {

/// What the kernel knows of an address on an interface.
struct Neighbour {
    int ifindex = 0;
    std::string address;
    bool has_answered = true;  ///< false: it was asked for its MAC address, and has not answered
};

/// Asks for all that the kernel knows.
[[nodiscard]] NetlinkMessage encode_neighbour_dump();

/// One message of the answer; none: it tells of no neighbour.
[[nodiscard]] std::optional<Neighbour> decode_neighbour(const nlmsghdr* message);

/// True: the kernel has asked for the MAC address of this one, in vain so far.
[[nodiscard]] bool is_without_answer(NetlinkExchange& kernel, const std::string& interface, const std::string& address);

}  // namespace headway

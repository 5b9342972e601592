// SPDX-License-Identifier: MIT
// Whether headwayd can know the packets of a process in a network namespace of its own,
// as a container's are.  It tells packets apart by where they go, so the other
// nodes' daemons know those to this process only if its address is one of its cluster's.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "json_object.hpp"

namespace headway::glue {

/// An address as text, of either family.
using Address = std::string;

/// An IPv4 address, even if it is one of a socket for both families; empty: it is no IP
/// address.
[[nodiscard]] Address text_of(const sockaddr& address);

/// Returns the addresses of this process's network namespace, without those that hold on one link
/// only, as 127.0.0.1.
[[nodiscard]] std::vector<Address> own_addresses();

/// Whether the block, "10.1.0.0/16", has the address; not if either is none.
[[nodiscard]] bool is_in_block(const Address& address, const std::string& block);

/// By the daemon's answer to "hello": one sentence why a process with these addresses
/// cannot be paced; empty: it can, or the daemon does not tell.
[[nodiscard]] std::string why_network_is_unknown(const JsonObject& hello, const std::vector<Address>& addresses);

}  // namespace headway::glue

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.hpp"

namespace headway {

/// A netlink socket, or what stands in for one.
class NetlinkTransport {
public:
    virtual ~NetlinkTransport() = default;

    [[nodiscard]] virtual std::uint32_t port_id() const = 0;

    /// Hands over one or more complete messages in one system call.
    [[nodiscard]] virtual Result<void> send(std::span<const std::byte> messages) = 0;

    /// The next datagram (one or more messages), aligned for them; valid until
    /// the next call.  Fails with ETIMEDOUT if the kernel stays silent.
    [[nodiscard]] virtual Result<std::span<const std::byte>> receive() = 0;

protected:
    NetlinkTransport() = default;
    NetlinkTransport(const NetlinkTransport&) = default;
    NetlinkTransport& operator=(const NetlinkTransport&) = default;
};

}  // namespace headway

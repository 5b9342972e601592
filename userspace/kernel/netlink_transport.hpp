// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.hpp"

namespace headway {

/// A netlink socket, or what stands in for one.
class NetlinkTransport {
public:
    using Clock = std::chrono::steady_clock;

    virtual ~NetlinkTransport() = default;

    [[nodiscard]] virtual std::uint32_t port_id() const = 0;

    /// Hands over one or more complete messages in one system call.
    [[nodiscard]] virtual Result<void> send(std::span<const std::byte> messages) = 0;

    /// The next datagram (one or more messages), aligned for them; valid until
    /// the next call.  Fails with ETIMEDOUT if the kernel stays silent until then.
    [[nodiscard]] virtual Result<std::span<const std::byte>> receive(Clock::time_point deadline) = 0;

    /// Another socket in the place of this one, with the same port: nothing is left in it.  If
    /// that fails there is none, until it succeeds.
    [[nodiscard]] virtual Result<void> reopen() = 0;

protected:
    NetlinkTransport() = default;
    NetlinkTransport(const NetlinkTransport&) = default;
    NetlinkTransport& operator=(const NetlinkTransport&) = default;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.hpp"

struct mnl_socket;

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

/// The kernel of this network namespace, through libmnl.
class MnlTransport final : public NetlinkTransport {
public:
    /// Of one of the kernel's families, NETLINK_ROUTE (0) or another; `groups` (RTMGRP_*) are
    /// whose news it gets besides answers.  Fails if no such socket can be had.
    [[nodiscard]] static Result<MnlTransport> open(int family = 0, std::uint32_t groups = 0);

    [[nodiscard]] std::uint32_t port_id() const override;
    [[nodiscard]] Result<void> send(std::span<const std::byte> messages) override;
    [[nodiscard]] Result<std::span<const std::byte>> receive(Clock::time_point deadline) override;
    [[nodiscard]] Result<void> reopen() override;
    /// Readable when there is something to receive.
    [[nodiscard]] int fd() const;

private:
    struct Close {
        void operator()(mnl_socket* socket) const;
    };

    using Socket = std::unique_ptr<mnl_socket, Close>;

    MnlTransport(int family, std::uint32_t groups);
    [[nodiscard]] Result<void> wait(Clock::time_point deadline) const;

    int family_;
    std::uint32_t groups_;
    Socket socket_;  ///< none: reopening has failed
    std::uint32_t port_;
    std::vector<std::byte> buffer_;  // from the heap: large, and aligned as messages need
};

}  // namespace headway

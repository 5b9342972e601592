// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernel/netlink_transport.hpp"

struct mnl_socket;

namespace headway {

/// The kernel of this network namespace, through libmnl.
class MnlTransport final : public NetlinkTransport {
public:
    /// Of one of the kernel's families, NETLINK_ROUTE (0) or another.  Fails if no
    /// such socket can be had.
    [[nodiscard]] static Result<MnlTransport> open(int family = 0);

    [[nodiscard]] std::uint32_t port_id() const override;
    [[nodiscard]] Result<void> send(std::span<const std::byte> messages) override;
    [[nodiscard]] Result<std::span<const std::byte>> receive(Clock::time_point deadline) override;
    [[nodiscard]] Result<void> reopen() override;

private:
    struct Close {
        void operator()(mnl_socket* socket) const;
    };

    using Socket = std::unique_ptr<mnl_socket, Close>;

    MnlTransport(int family, Socket socket, std::uint32_t port);
    [[nodiscard]] static Result<Socket> open_socket(int family, std::uint32_t port);

    int family_;
    Socket socket_;  ///< none: reopening has failed
    std::uint32_t port_;
    std::vector<std::byte> buffer_;  // from the heap: large, and aligned as messages need
};

}  // namespace headway

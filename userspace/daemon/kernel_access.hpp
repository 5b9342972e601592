// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernel/mnl_transport.hpp"
#include "kernel/netlink_traffic_control.hpp"

namespace headway {

/// A netlink socket, and the traffic control of one interface through it.
class KernelAccess {
public:
    /// Fails if there is no netlink, or no such interface.
    [[nodiscard]] static Result<std::unique_ptr<KernelAccess>> open(const std::string& interface);

    [[nodiscard]] TrafficControl& traffic_control() { return *control_; }
    /// Of the device as it was found last.
    [[nodiscard]] int ifindex() const { return control_->ifindex(); }
    /// Netlink port of our own requests.
    [[nodiscard]] std::uint32_t port_id() const { return transport_.port_id(); }

private:
    explicit KernelAccess(MnlTransport transport) : transport_(std::move(transport)) {}

    // The second refers to the first: the object stays where it is.
    MnlTransport transport_;
    std::optional<NetlinkTrafficControl> control_;
};

}  // namespace headway

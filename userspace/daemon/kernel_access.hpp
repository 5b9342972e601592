// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "config/config.hpp"
#include "kernel/mnl_transport.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "kernel/tc_traffic_control.hpp"

namespace headway {

/// The way to the kernel that a configuration asks for.
class KernelAccess {
public:
    /// Fails if there is no netlink, or no such interface.
    [[nodiscard]] static Result<std::unique_ptr<KernelAccess>> open(const Config& config);

    [[nodiscard]] TrafficControl& traffic_control() {
        if (tc_) return *tc_;
        return *netlink_;
    }

    /// Of the device as it was found last.
    [[nodiscard]] int ifindex() const { return netlink_->ifindex(); }
    /// Netlink port of the requests that do not go through tc.
    [[nodiscard]] std::uint32_t port_id() const { return transport_.port_id(); }

private:
    explicit KernelAccess(MnlTransport transport) : transport_(std::move(transport)) {}

    // Each refers to the one before: the object stays where it is.
    MnlTransport transport_;
    std::optional<NetlinkTrafficControl> netlink_;
    std::optional<TcTrafficControl> tc_;
};

/// The folder that holds q_gap.so: as configured; none if TC_LIB_DIR is set in
/// the environment (tc sees it as well); ../lib beside this program if it is
/// there; else none, so that tc looks at its own place.
[[nodiscard]] std::optional<std::string> tc_plugin_dir(const KernelConfig& config);

}  // namespace headway

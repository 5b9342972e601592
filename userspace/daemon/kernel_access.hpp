// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernel/netlink_transport.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "phase/bpf_phase_maps.hpp"
#include "phase/fq_traffic_control.hpp"

namespace headway {

/// A netlink socket, and the traffic control of one interface through it.
class KernelAccess {
public:
    /// Fails if there is no netlink, or no such interface.
    [[nodiscard]] static Result<std::unique_ptr<KernelAccess>> open(const std::string& interface);

    /// By the qdisc gap, or after use_fq() by fq.
    [[nodiscard]] TrafficControl& traffic_control() { return fq_ ? static_cast<TrafficControl&>(*fq_) : *control_; }
    /// What the kernel itself has.
    [[nodiscard]] NetlinkTrafficControl& link() { return *control_; }

    /// From now on the maps of `program` hold the classes.  `host_rate` is what a device that
    /// tells no speed is taken to drive.  `program` must outlive this object's use.
    void use_fq(const BpfPhaseMaps& program, BitsPerSecond host_rate);
    [[nodiscard]] bool uses_fq() const { return fq_.has_value(); }
    /// Of the device as it was found last.
    [[nodiscard]] int ifindex() const { return control_->ifindex(); }
    /// Netlink port of our own requests.
    [[nodiscard]] std::uint32_t port_id() const { return transport_.port_id(); }

private:
    KernelAccess(MnlTransport transport, std::string interface)
        : transport_(std::move(transport)), interface_(std::move(interface)) {}

    // Later ones refer to earlier ones: the object stays where it is.
    MnlTransport transport_;
    std::string interface_;
    SteadyClock clock_;
    std::optional<NetlinkTrafficControl> control_;
    std::unique_ptr<FqClasses> classes_;
    std::optional<FqTrafficControl> fq_;
};

}  // namespace headway

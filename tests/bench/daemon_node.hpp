// SPDX-License-Identifier: Apache-2.0
// headwayd's planner, control service and reconciler over the unit tests' kernel in
// memory, for benchmarks.
#pragma once

#include <optional>
#include <string>

#include <fmt/format.h>

#include "daemon/control_service.hpp"
#include "fake_kernel.hpp"
#include "fake_phase_maps.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "kernel/reconciler.hpp"
#include "topologies.hpp"

namespace headway::test {

inline constexpr std::uint64_t gbit = 1'000 * mbit;
inline constexpr BytesPerSecond bench_link{10 * gbit / 8};

/// Clusters "c0", "c1", ... of hosts "c0-0", ..., each with a trunk to the centre
/// that takes a quarter of what its hosts could send.
inline Topology bench_topology(int clusters, int hosts_per_cluster) {
    std::vector<Cluster> list;
    for (int c = 0; c < clusters; ++c) {
        Cluster cluster;
        cluster.name = fmt::format("c{}", c);
        for (int h = 0; h < hosts_per_cluster; ++h) {
            cluster.hosts.push_back(fmt::format("c{}-{}", c, h));
        }
        cluster.prefixes = {*parse_ip_prefix(fmt::format("10.{}.{}.0/24", c / 256, c % 256))};
        cluster.host_rate = bench_link.bits();
        const auto trunk_bps = bench_link.bits().value * static_cast<std::uint64_t>(hosts_per_cluster);
        cluster.trunk_up_rate = cluster.trunk_down_rate = {std::max<std::uint64_t>(trunk_bps / 4, gbit)};
        list.push_back(std::move(cluster));
    }
    return *Topology::make(std::move(list));
}

/// Node "c0-0".
class BenchNode {
public:
    BenchNode(Topology topology, bool with_phases_too) {
        Config config;
        config.file = "bench";
        config.node.name = "c0-0";
        config.topology = std::move(topology);
        kernel_.add_device("eth0", bench_link.bits());
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
        auto planner = *NodePlanner::make(std::move(config), "");
        const PhaseProgram program{17, 17};
        const KernelLayout layout =
            with_phases_too ? with_phases(planner.layout(), program)
                            : planner.layout();
        is_ready_ = control_->apply(layout.set_up, ApplyMode::together).has_value();
        service_.emplace(planner_.emplace(std::move(planner)), bench_link, *control_, clock_);
        if (with_phases_too) {
            maps_.emplace(static_cast<std::uint32_t>(layout.classes.size()));
            service_->use_phases(*maps_, program);
        }
    }

    [[nodiscard]] bool is_ready() const { return is_ready_; }
    ControlService& service() { return *service_; }
    NetlinkTrafficControl& control() { return *control_; }
    const Clock& clock() const { return clock_; }
    FakeQdisc& qdisc() { return kernel_.device("eth0").root; }

    ControlService::SessionId connect(uid_t uid = 0) {
        return *service_->open({.pid = 42, .uid = uid, .is_watched = true});
    }
    /// True if it is granted.
    bool ask(ControlService::SessionId session, const std::string& request) {
        return service_->answer(session, request).text.find("\"ok\":true") != std::string::npos;
    }

    /// Classes that limit something: all packets, or those of a phase.
    std::size_t limited_classes() {
        std::size_t limited = 0;
        for (const auto& [handle, one] : qdisc().classes) limited += one.rate || !one.table.empty() ? 1 : 0;
        return limited;
    }

private:
    FakeKernel kernel_;
    SteadyClock clock_;
    std::optional<NetlinkTrafficControl> control_;
    std::optional<FakePhaseMaps> maps_;
    std::optional<NodePlanner> planner_;
    std::optional<ControlService> service_;
    bool is_ready_ = false;
};

}  // namespace headway::test

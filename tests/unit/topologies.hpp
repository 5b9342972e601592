// SPDX-License-Identifier: Apache-2.0
// Topologies that several tests use.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "network/topology.hpp"

namespace headway::test {

inline constexpr std::uint64_t mbit = 1'000'000;

/// Cluster number `index` ("a", "b", ...), hosts "a0", "a1", ..., addresses
/// 10.(index + 1).0.0/16, the same trunk rate in both directions.
inline Cluster make_cluster(int index, int hosts, std::uint64_t host_mbit,
                            std::uint64_t trunk_mbit) {
    Cluster cluster;
    cluster.name = std::string(1, static_cast<char>('a' + index));
    for (int h = 0; h < hosts; ++h) cluster.hosts.push_back(cluster.name + std::to_string(h));
    cluster.prefixes = {*parse_ip_prefix(fmt::format("10.{}.0.0/16", index + 1))};
    cluster.host_rate = {host_mbit * mbit};
    cluster.trunk_up_rate = cluster.trunk_down_rate = {trunk_mbit * mbit};
    return cluster;
}

/// The scene of the demo: two clusters of 4, edges 20 Mbit/s, trunk 25.
inline Topology demo_topology() {
    return *Topology::make({make_cluster(0, 4, 20, 25), make_cluster(1, 4, 20, 25)});
}

inline HostSet every_host(const Topology& topology) {
    HostSet hosts(topology.host_count());
    for (std::size_t host = 0; host < topology.host_count(); ++host) hosts.add(host);
    return hosts;
}

/// Twice the demo's scene: clusters a and b below switch "left", c and d below
/// "right", these joined by trunks of that rate.
inline Topology two_level_topology(std::uint64_t upper_mbit) {
    std::vector<Cluster> clusters;
    for (int c = 0; c < 4; ++c) {
        clusters.push_back(make_cluster(c, 4, 20, 25));
        clusters.back().parent = c < 2 ? "left" : "right";
    }
    TrunkSwitch left{"left", "", {upper_mbit * mbit}, {upper_mbit * mbit}, {}, {}};
    TrunkSwitch right = left;
    right.name = "right";
    return *Topology::make(std::move(clusters), {left, right});
}

}  // namespace headway::test

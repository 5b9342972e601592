// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "model/topology.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;
using Kind = TopologyConflict::Kind;

TEST(Topology, FindsHosts) {
    const Topology topology = demo_topology();
    EXPECT_EQ(topology.host_count(), 8U);
    EXPECT_EQ(topology.cluster_of(*topology.find_host("a3")), 0U);
    EXPECT_EQ(topology.cluster_of(*topology.find_host("b0")), 1U);
    EXPECT_FALSE(topology.find_host("c0"));
    EXPECT_FALSE(topology.find_host(""));
}

// MPI libraries report gethostname(), which may carry the domain.
TEST(Topology, LooksWithoutTheDomainLast) {
    Cluster plain = make_cluster(0, 1, 20, 25);
    Cluster full = make_cluster(1, 1, 20, 25);
    full.hosts = {"a0.b.example"};
    const Topology topology = *Topology::make({plain, full});
    EXPECT_EQ(topology.cluster_of(*topology.find_host("a0.a.example")), 0U);
    EXPECT_EQ(topology.cluster_of(*topology.find_host("a0.b.example")), 1U);
    EXPECT_FALSE(topology.find_host("a1.a.example"));
}

TEST(Topology, CountsHostsOnce) {
    const Topology topology = demo_topology();
    const std::vector<std::string> names{"a0", "b1", "a0", "b2", "a0.example.org"};
    const HostCounts counts = topology.count(*topology.resolve(names));
    EXPECT_EQ(counts.per_cluster, (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(counts.total(), 3U);
    EXPECT_EQ(counts.clusters_used(), 2U);
}

TEST(Topology, NamesUnknownHosts) {
    const Topology topology = demo_topology();
    const std::vector<std::string> few{"a0", "x1", "y2"};
    const auto error = topology.resolve(few);
    ASSERT_FALSE(error);
    EXPECT_EQ(error.error().message, "not in the topology: \"x1\", \"y2\"");

    const std::vector<std::string> many(20, "x");
    EXPECT_NE(topology.resolve(many).error().message.find("and 15 more"), std::string::npos);
}

TEST(Topology, FindsEveryConflict) {
    Cluster a = make_cluster(0, 2, 20, 25);
    Cluster b = make_cluster(1, 2, 20, 25);
    b.name = "a";
    b.hosts = {"b0", "a1", "b0"};
    b.prefixes.push_back(*parse_ip_prefix("10.1.7.0/24"));
    const std::vector<Cluster> clusters{a, b};
    const auto conflicts = find_conflicts(clusters);
    ASSERT_EQ(conflicts.size(), 4U);
    EXPECT_EQ(conflicts[0].kind, Kind::name);
    EXPECT_EQ(conflicts[1].kind, Kind::host);
    EXPECT_EQ(conflicts[1].position, 1U);
    EXPECT_EQ(conflicts[2].kind, Kind::host);
    EXPECT_EQ(conflicts[2].message, "host \"b0\" is listed twice");
    EXPECT_EQ(conflicts[3].kind, Kind::prefix);
    EXPECT_EQ(conflicts[3].position, 1U);
    EXPECT_FALSE(Topology::make(clusters));
}

// Two clusters share one cable; in a star a path crosses two.
TEST(Topology, AddsDelaysInAStar) {
    std::vector<Cluster> clusters{make_cluster(0, 1, 20, 25), make_cluster(1, 1, 20, 25)};
    clusters[0].trunk_delay = 1ms;
    clusters[1].trunk_delay = 3ms;
    EXPECT_EQ(Topology::make(clusters)->delay(0, 1), 3ms);
    clusters.push_back(make_cluster(2, 1, 20, 25));
    EXPECT_EQ(Topology::make(clusters)->delay(0, 1), 4ms);
    EXPECT_EQ(Topology::make(clusters)->delay(1, 1), 0ms);
}

}  // namespace
}  // namespace headway::test

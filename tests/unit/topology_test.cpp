// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/topology.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

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

TEST(Topology, CaseDoesNotMatterNorADomainThatOnlyOneHas) {
    Cluster cluster = make_cluster(0, 1, 20, 25);
    cluster.hosts = {"NODE01", "node02.cluster.example", "n3.a.example", "n3.b.example",
                     "10.0.0.1"};
    const Topology topology = *Topology::make({cluster, make_cluster(1, 1, 20, 25)});
    for (const char* name : {"node01", "Node01", "NODE01.cluster.example"})
        EXPECT_EQ(topology.find_host(name), 0U) << name;
    for (const char* name : {"node02", "NODE02", "Node02.Cluster.Example"})
        EXPECT_EQ(topology.find_host(name), 1U) << name;
    EXPECT_EQ(topology.find_host("N3.B.example"), 3U);
    for (const char* name : {"n3", "node02.elsewhere.example", "node", "10", "10.0.0.2"}) {
        EXPECT_FALSE(topology.find_host(name)) << name;
    }
    cluster.hosts = {"n1", "N1"};
    const auto twice = Topology::make({cluster});
    ASSERT_FALSE(twice);
    EXPECT_NE(twice.error().message.find("host \"N1\" is used twice"), std::string::npos);
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

TEST(Topology, RefusesNamesUsedTwice) {
    const Cluster a = make_cluster(0, 2, 20, 25);
    Cluster b = make_cluster(1, 2, 20, 25);
    b.hosts.push_back("a1");
    EXPECT_EQ(Topology::make({a, b}).error().message, "the name of host \"a1\" is used twice");
    b = make_cluster(1, 2, 20, 25);
    b.name = "a";
    EXPECT_EQ(Topology::make({a, b}).error().message, "the name of switch \"a\" is used twice");
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

TEST(HostSet, TakesInAnotherAndSaysWhetherAnyWereNew) {
    HostSet some(130), others(130);
    for (const std::size_t host : {0, 63, 64, 129}) others.add(host);
    EXPECT_FALSE(some.contains_all(others));
    EXPECT_TRUE(some.add(64));
    EXPECT_FALSE(some.add(64));
    EXPECT_TRUE(some.add_all(others));
    EXPECT_FALSE(some.add_all(others));
    EXPECT_TRUE(some.contains_all(others) && some.contains(129) && !some.contains(128));
    some.add(1);
    EXPECT_FALSE(others.contains_all(some));
}

// Two levels: a path crosses the trunks up to the first common switch, and down.
TEST(Topology, PathsGoUpToTheCommonSwitch) {
    const Topology topology = two_level_topology(40);
    using enum LinkKind;
    using Path = std::vector<TopologyLink>;
    EXPECT_EQ(topology.trunk_path(0, 1), (Path{{trunk_up, 0}, {trunk_down, 1}}));
    EXPECT_EQ(topology.trunk_path(0, 3),
              (Path{{trunk_up, 0}, {trunk_up, 4}, {trunk_down, 5}, {trunk_down, 3}}));
    EXPECT_EQ(topology.trunk_path(2, 2), Path{});
    EXPECT_TRUE(topology.is_below(1, 4));
    EXPECT_FALSE(topology.is_below(1, 5));
    EXPECT_EQ(topology.hosts_below({{1, 2, 3, 4}}), (std::vector<std::uint32_t>{1, 2, 3, 4, 3, 7}));
}

TEST(Topology, RefusesWhatIsNoTree) {
    const auto make = [](const char* parent_of_a, const char* parent_of_s) {
        Cluster a = make_cluster(0, 1, 1, 1);
        a.parent = parent_of_a;
        return Topology::make({a}, {{"s", parent_of_s, {1}, {1}, {}, {}}});
    };
    EXPECT_TRUE(make("s", ""));
    EXPECT_EQ(make("t", "").error().message, "there is no switch \"t\" above \"a\"");
    EXPECT_NE(make("s", "a").error().message.find("is below itself"), std::string::npos);
    EXPECT_NE(make("s", "s").error().message.find("is below itself"), std::string::npos);
    EXPECT_FALSE(Topology::make({make_cluster(0, 1, 1, 1)}, {{"a", "", {1}, {1}, {}, {}}}));
}

}  // namespace
}  // namespace headway::test

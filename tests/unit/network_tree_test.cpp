// SPDX-License-Identifier: Apache-2.0
#include "network/network_tree.hpp"

#include <gtest/gtest.h>

#include "base/hostlist.hpp"
#include "base/units.hpp"
#include "models/network_alltoall.hpp"
#include "topologies.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;
using Kind = NetworkNodeKind;
using test::mbit;


NetworkEdge edge(std::uint64_t up_mbit, std::uint64_t down_mbit = 0) {
    return {{up_mbit * mbit}, {(down_mbit == 0 ? up_mbit : down_mbit) * mbit}, {}, {}, {}};
}
NetworkItem switch_item(const char* name, const char* parent, std::uint64_t up_mbit = 100) {
    return {Kind::switch_node, name, parent, edge(up_mbit), false, {}};
}
NetworkItem host(const char* name, const char* parent, std::uint64_t up_mbit = 10) {
    return {Kind::host, name, parent, edge(up_mbit), false, {}};
}

//        core
//       /    \.      a1's link is described before its switch
//      h0     s ── a0, a1
std::vector<NetworkItem> small() {
    return {host("a1", "s"), switch_item("s", "core"), host("a0", "s"), switch_item("core", ""),
            host("h0", "core")};
}

TEST(NetworkTree, NumbersParentsFirstAndHostsBeforeSwitches) {
    const auto tree = NetworkTree::make(small());
    ASSERT_TRUE(tree) << tree.error().message;
    std::vector<std::string> names;
    for (NetworkTree::Node node = 0; node < tree->size(); ++node) names.push_back(tree->name(node));
    EXPECT_EQ(names, (std::vector<std::string>{"core", "h0", "s", "a1", "a0"}));
    EXPECT_EQ(tree->host_count(), 3U);
    EXPECT_EQ(tree->switch_count(), 2U);
    EXPECT_EQ(tree->hosts_below(*tree->find_switch("s")), 2U);
    EXPECT_EQ(tree->depth(*tree->find_host("a0")), 2U);
    EXPECT_EQ(tree->parent(*tree->find_host("h0")), NetworkTree::root);
    EXPECT_FALSE(tree->find_host("s"));
    EXPECT_FALSE(tree->find_switch("a0"));
}

struct Bad {
    const char* name;
    void (*spoil)(std::vector<NetworkItem>&);
    std::size_t item;
    const char* message;
};

class NetworkTreeMistake : public testing::TestWithParam<Bad> {};

TEST_P(NetworkTreeMistake, NamesTheNode) {
    auto items = small();
    GetParam().spoil(items);
    const auto mistakes = find_mistakes(items);
    ASSERT_FALSE(mistakes.empty());
    EXPECT_EQ(mistakes.front().item, GetParam().item);
    EXPECT_EQ(mistakes.front().message, GetParam().message);
    EXPECT_EQ(mistakes.size(), 1U) << mistakes[1].message;
    EXPECT_EQ(NetworkTree::make(items).error().message, GetParam().message);
}

constexpr std::size_t whole = NetworkMistake::whole_network;

INSTANTIATE_TEST_SUITE_P(
    Table, NetworkTreeMistake,
    testing::Values(
        Bad{"HostTwice", [](auto& i) { i.push_back(host("a0", "core")); }, 5,
            "host \"a0\" is described twice"},
        Bad{"SwitchTwice", [](auto& i) { i.push_back(switch_item("s", "core")); }, 5,
            "switch \"s\" is described twice"},
        Bad{"UnknownParent", [](auto& i) { i[0].parent = "t"; }, 0,
            "host \"a1\" has the parent \"t\", but there is no such switch"},
        Bad{"HostAsParent", [](auto& i) { i[0].parent = "h0"; }, 0,
            "host \"a1\" has the parent \"h0\", but there is no such switch"},
        Bad{"TwoRoots", [](auto& i) { i[3].parent = ""; i[1].parent = ""; }, 3,
            "switch \"core\" has no parent, as \"s\" has none: a tree has one root"},
        Bad{"HostWithoutParent", [](auto& i) { i[4].parent = ""; }, 4,
            "host \"h0\" has no parent"},
        Bad{"NoRate", [](auto& i) { i[1].edge.down_rate = {}; }, 1,
            "the link of switch \"s\" has no rate down"},
        Bad{"EmptyCluster", [](auto& i) { i[4].parent = "s"; i[3].is_cluster = true; }, 3,
            "cluster \"core\" has no host of its own"},
        Bad{"NoHost", [](auto& i) { i = {switch_item("core", "")}; }, whole, "there is no host"}),
    [](const auto& bad) { return std::string(bad.param.name); });

TEST(NetworkTree, TellsLoopsAndDepth) {
    auto items = small();
    items.push_back(switch_item("x", "y"));
    items.push_back(switch_item("y", "x"));
    auto mistakes = find_mistakes(items);
    ASSERT_EQ(mistakes.size(), 1U);
    EXPECT_EQ(mistakes.front().message, "switch \"x\" is below itself");

    items = small();
    std::string above = "core";
    for (int i = 0; i < 70; ++i) {
        items.push_back(switch_item(fmt::format("d{}", i).c_str(), above.c_str()));
        above = fmt::format("d{}", i);
    }
    mistakes = find_mistakes(items);
    ASSERT_EQ(mistakes.size(), 1U);
    EXPECT_EQ(mistakes.front().message, "switch \"d64\" is more than 64 edges from the root");
}

TEST(NetworkTree, TellsOverlappingPrefixes) {
    auto items = small();
    items[1].is_cluster = items[3].is_cluster = true;
    items[1].prefixes = {*parse_ip_prefix("10.1.0.0/16")};
    items[3].prefixes = {*parse_ip_prefix("10.1.2.0/24")};
    const auto mistakes = find_mistakes(items);
    ASSERT_EQ(mistakes.size(), 1U);
    EXPECT_EQ(mistakes.front().message,
              "10.1.2.0/24 of cluster \"core\" overlaps 10.1.0.0/16 of cluster \"s\"");
    EXPECT_EQ(mistakes.front().item, 3U);
    EXPECT_EQ(mistakes.front().prefix, 0U);
}

// Two trunks in a row are a cable to the planner, each with all of its delay; or they are told so.
TEST(NetworkTree, TwoTrunksAreOneCable) {
    std::vector<NetworkItem> items{switch_item("core", ""), switch_item("a", "core"),
                                   host("a0", "a"), switch_item("b", "core"), host("b0", "b")};
    items[1].edge.delay = 1ms;
    items[3].edge.delay = 3ms;
    EXPECT_EQ(topology_of(items)->delay(0, 1), 4ms);
    EXPECT_EQ(topology_of(items, true)->delay(0, 1), 3ms);
}

// A host of the root makes that a cluster, which all others are below; switches
// without hosts of their own are left as switches, those without any are left out.
TEST(NetworkTree, IsATreeOfClustersToThePlanner) {
    const std::vector<NetworkItem> items{
        switch_item("core", ""),      switch_item("left", "core"), switch_item("rack0", "left"),
        switch_item("rack1", "left"), switch_item("spare", "core"), host("n0", "rack0"),
        host("n1", "rack0"),          host("n2", "rack1"),          host("login", "core")};
    const auto topology = topology_of(items);
    ASSERT_TRUE(topology) << topology.error().message;
    ASSERT_EQ(topology->clusters().size(), 3U);
    ASSERT_EQ(topology->switches().size(), 1U);
    EXPECT_EQ(topology->clusters()[0].name, "core");
    EXPECT_EQ(topology->clusters()[0].hosts, std::vector<std::string>{"login"});
    EXPECT_EQ(topology->switches()[0].name, "left");
    using enum LinkKind;
    using Path = std::vector<TopologyLink>;
    EXPECT_EQ(topology->trunk_path(1, 0), (Path{{trunk_up, 1}, {trunk_up, 3}}));  // rack0, left
    EXPECT_EQ(topology->trunk_path(1, 2), (Path{{trunk_up, 1}, {trunk_down, 2}}));
    EXPECT_EQ(topology->hosts_below(topology->count(test::every_host(*topology))),
              (std::vector<std::uint32_t>{4, 2, 1, 3}));
}

TEST(NetworkTree, SaysWhyItCannotBePlannedFor) {
    auto items = small();
    items[0].edge.down_rate = {1};
    EXPECT_NE(topology_of(items).error().message.find("differs by direction, "), std::string::npos);
}

// Each trunk is crossed by 4 x 4 pairs: 25 / 16; a host's link by 7: 20 / 7.
TEST(NetworkAlltoall, TrunksLimitTwoClusters) {
    std::vector<NetworkItem> items{switch_item("core", "")};
    for (const char* cluster : {"a", "b"}) {
        items.push_back(switch_item(cluster, "core", 25));
        for (int i = 0; i < 4; ++i)
            items.push_back(host(fmt::format("{}{}", cluster, i).c_str(), cluster, 20));
    }
    const auto tree = NetworkTree::make(items);
    const AlltoallLimits limits = alltoall_limits(*tree);
    EXPECT_DOUBLE_EQ(limits.pair_rate_bps, 25e6 / 16);
    for (NetworkTree::Node node = 1; node < tree->size(); ++node) {
        EXPECT_EQ(limits.up_limits[node], !tree->is_host(node));
        EXPECT_EQ(limits.crossing[node], tree->is_host(node) ? 7U : 16U);
    }
}

TEST(NetworkAlltoall, OneDirectionOfOneLinkCanLimit) {
    auto items = small();  // s is crossed by 2 pairs, a host's link by 2
    items[1].edge = edge(100, 8);
    const auto tree = NetworkTree::make(items);
    const AlltoallLimits limits = alltoall_limits(*tree);
    EXPECT_DOUBLE_EQ(limits.pair_rate_bps, 4e6);
    for (NetworkTree::Node node = 0; node < tree->size(); ++node) {
        EXPECT_FALSE(limits.up_limits[node]);
        EXPECT_EQ(limits.down_limits[node], tree->name(node) == "s");
    }
    items = {switch_item("core", ""), host("alone", "core")};
    EXPECT_EQ(alltoall_limits(*NetworkTree::make(items)).pair_rate_bps, 0);
}

TEST(HostlistText, IsShortAndReadsBack) {
    const std::vector<std::vector<std::string>> lists{
        {"a0"}, {"a0", "a1", "a2", "a7"}, {"n008", "n009", "n010"}, {"n8", "n9", "n10", "n11"},
        {"a0-ib", "a1-ib", "b1"}, {"login", "a9", "a010"}, {"n099", "n100", "n1000"},
        {"r1n0", "r1n1", "r2n0"}, {"x00", "x0", "x1"}, {"a1", "a0", "a1"}};
    for (const auto& hosts : lists) {
        const std::string text = format_hostlist(hosts);
        const auto back = parse_hostlist(text);
        ASSERT_TRUE(back) << text;
        EXPECT_EQ(*back, hosts) << text;
    }
    EXPECT_EQ(format_hostlist(lists[1]), "a[0-2,7]");
    EXPECT_EQ(format_hostlist(lists[2]), "n[008-010]");
    EXPECT_EQ(format_hostlist(lists[3]), "n[8-11]");
    EXPECT_EQ(format_hostlist(lists[4]), "a[0-1]-ib,b1");
}

TEST(ByteSize, ReadsAndWritesExactly) {
    for (const char* text : {"0B", "1B", "1500B", "64kB", "512KiB", "3MB", "1GiB", "1TiB"}) {
        EXPECT_EQ(byte_size_to_text(*parse_byte_size(text)), text);
    }
    EXPECT_EQ(*parse_byte_size("1.5kib"), 1536U);
    EXPECT_FALSE(parse_byte_size("12"));
    EXPECT_FALSE(parse_byte_size("2TiB"));
    EXPECT_FALSE(parse_byte_size("64kbit"));
}

}  // namespace
}  // namespace headway

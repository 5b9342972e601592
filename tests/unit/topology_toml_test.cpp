// SPDX-License-Identifier: Apache-2.0
#include "config/network_file.hpp"

#include "formats_golden.hpp"
#include "network/network_tree.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;
using test::golden;
using test::told;

NetworkTree read(const std::string& text) {
    auto topology = parse_topology_toml(text, "x.toml");
    EXPECT_TRUE(topology) << told(topology);
    return *NetworkTree::make(topology->network);
}

TEST(TopologyToml, ReadsAStar) {
    const auto file = parse_topology_toml(golden("topology_toml/star.toml"), "star.toml");
    ASSERT_TRUE(file) << told(file);
    const NetworkTree tree = *NetworkTree::make(file->network);
    EXPECT_EQ(tree.host_count(), 64U);
    EXPECT_EQ(tree.switch_count(), 3U);
    const NetworkEdge& trunk = tree.edge(*tree.find_switch("east"));
    EXPECT_EQ(trunk.up_rate.value, 10'000'000'000U);
    EXPECT_EQ(trunk.delay, 10ms);
    EXPECT_EQ(trunk.up_buffer_bytes, 1'000'000U);
    EXPECT_FALSE(trunk.down_buffer_bytes);
    const NetworkEdge& host = tree.edge(*tree.find_host("e001"));
    EXPECT_EQ(host.delay, 5us);
    EXPECT_EQ(host.down_buffer_bytes, 256U << 10);
    EXPECT_TRUE(tree.find_host("w041-ib"));
    ASSERT_TRUE(file->clusters);
    EXPECT_EQ(file->clusters->host_count(), 64U);
    EXPECT_EQ(file->clusters->delay(0, 1), 10ms);
}

// Its trunks are one cable, whose delay is the longer of both.
TEST(TopologyToml, ReadsAStarOfTwo) {
    std::string text;
    for (const char* cluster : {"centre", "b"}) {
        text += fmt::format("[[cluster]]\nname = \"{0}\"\nhosts = [\"{0}[0-1]\"]\n"
                            "host_rate = \"1gbit\"\ntrunk_rate = \"1gbit\"\n"
                            "trunk_delay = \"{1}ms\"\n",
                            cluster, cluster[0] == 'b' ? 3 : 1);
    }
    const auto file = parse_topology_toml(text, "x");
    ASSERT_TRUE(file && file->clusters) << told(file);
    const NetworkTree tree = *NetworkTree::make(file->network);
    EXPECT_EQ(tree.name(NetworkTree::root), "centre-2");
    EXPECT_EQ(tree.edge(*tree.find_switch("centre")).delay, 3ms);
    EXPECT_EQ(tree.edge(*tree.find_switch("b")).delay, 0ms);
    EXPECT_EQ(file->clusters->clusters()[0].trunk_delay, 1ms);
    EXPECT_EQ(file->clusters->delay(0, 1), 3ms);
}

constexpr const char* hashed_star = R"([[cluster]]
name = "a"
hosts = ["a[0-1]"]
host_rate = "1gbit"
trunk_rate = "1gbit"
trunk_buffer = "64KiB"
uplinks = 4

[[cluster]]
name = "b"
hosts = ["b[0-1]"]
host_rate = "1gbit"
trunk_rate = "1gbit"
uplinks = 2
uplink_hash = "pair"
)";

// Rates and buffers stay those of one link; what is written is what was read.
TEST(TopologyToml, SeveralUplinks) {
    const auto file = parse_topology_toml(hashed_star, "x");
    ASSERT_TRUE(file && file->clusters) << told(file);
    const NetworkTree tree = *NetworkTree::make(file->network);
    EXPECT_EQ(tree.edge(*tree.find_switch("a")).links, ParallelLinks{4});
    const Cluster& b = file->clusters->clusters()[1];
    EXPECT_EQ(b.trunk_links, (ParallelLinks{2, LinkHash::pair}));
    EXPECT_EQ(b.trunk_up_rate.value, 1'000'000'000U);
    EXPECT_EQ(file->clusters->clusters()[0].trunk_buffer_bytes, 65536U);
    EXPECT_EQ(write_topology_toml(tree), hashed_star);
    const std::string deep = "[[switch]]\nname = \"core\"\n\n[[switch]]\nname = \"leaf\"\n"
                             "parent = \"core\"\nrate = \"1gbit\"\nuplinks = 8\n"
                             "uplink_hash = \"pair\"\n\n[[hosts]]\nnames = [\"h\"]\nparent = \"leaf\"\n"
                             "rate = \"1gbit\"\n";
    EXPECT_EQ(write_topology_toml(read(deep)), deep);
}

// The daemon's file is read for its topology alone: what else it has is not this one's business.
TEST(TopologyToml, PassesOverAllTablesOfTheDaemon) {
    std::string text = "[coordination]\nvia = \"etcd\"\n[feedback]\nenabled = true\n"
                       "[access]\nadministrators = \"wheel\"\n[node]\nname = \"e001\"\n";
    const auto file = parse_topology_toml(text + golden("topology_toml/star.toml"), "star.toml");
    ASSERT_TRUE(file) << told(file);
    EXPECT_EQ(NetworkTree::make(file->network)->host_count(), 64U);
}

TEST(TopologyToml, ReadsATree) {
    const auto file = parse_topology_toml(golden("topology_toml/tree.toml"), "tree.toml");
    ASSERT_TRUE(file) << told(file);
    const NetworkTree tree = *NetworkTree::make(file->network);
    EXPECT_EQ(tree.host_count(), 19U);
    EXPECT_EQ(tree.depth(*tree.find_host("n15")), 3U);
    EXPECT_EQ(tree.name(tree.parent(*tree.find_host("fat1"))), "rack0");
    EXPECT_EQ(tree.edge(*tree.find_host("fat1")).up_rate.value, 2'500'000'000U);
    EXPECT_EQ(tree.edge(*tree.find_switch("rack1")).down_buffer_bytes, 512U << 10);
    ASSERT_FALSE(file->clusters);
    EXPECT_EQ(file->clusters.error().to_string(),
              "tree.toml:1: switch: it cannot be planned for: the link of host \"fat0\" differs by "
              "direction, 2.5 Gbit/s upwards and 10 Gbit/s downwards; give all hosts of a switch the same links, the same in "
              "both directions");
}

TEST(TopologyToml, RoundTripsAreGolden) {
    const NetworkTree tree = read(golden("topology_toml/tree.toml"));
    EXPECT_EQ(write_topology_toml(tree), golden("topology_toml/tree.toml"));
    const NetworkTree star = read(golden("topology_toml/star.toml"));
    EXPECT_EQ(write_topology_toml(star), R"([[cluster]]
name = "east"
hosts = ["e[001-032]"]
prefixes = ["10.1.0.0/16"]
host_rate = "1gbit"
host_delay = "5us"
host_buffer = "256KiB"
trunk_rate = "10gbit"
trunk_delay = "10ms"
trunk_up_buffer = "1MB"

[[cluster]]
name = "west"
hosts = ["w[001-030],w[040-041]-ib"]
prefixes = ["10.2.0.0/16", "fd00:2::/64"]
host_rate = "1gbit"
trunk_up_rate = "10gbit"
trunk_down_rate = "5gbit"
trunk_delay = "10ms"
)");
    EXPECT_EQ(read(write_topology_toml(star)), star);
}

TEST(TopologyToml, CutsLongListsIntoLines) {
    std::vector<NetworkItem> items{{NetworkNodeKind::switch_node, "s", "", {}, false, {}}};
    for (char c = 'a'; c <= 'z'; ++c) {
        for (const int number : {1, 2, 5}) {
            items.push_back({NetworkNodeKind::host, fmt::format("{}host{}", c, number), "s",
                             {{1000}, {1000}, {}, {}, {}}, false, {}});
        }
    }
    const auto tree = NetworkTree::make(items);
    ASSERT_TRUE(tree);
    const std::string text = write_topology_toml(*tree);
    EXPECT_NE(text.find("\",\n    \""), std::string::npos) << text;
    EXPECT_EQ(read(text), *tree);
}

TEST(TopologyToml, RefusesBottomlessKeys) {
    std::string key = "a";
    for (int i = 0; i < 500'000; ++i) key += ".a";
    for (const std::string& text : {key + " = 1\n", "[" + key + "]\n", "x = {" + key + " = 1}\n",
                                    "x = \"\"\"\n'\n\"\"\"\n" + key + " = 1\n"}) {
        EXPECT_NE(told(parse_topology_toml(text, "x")).find("a key has more than 64 parts"),
                  std::string::npos);
    }
    EXPECT_FALSE(parse_topology_toml(std::string(1 << 20, '['), "x"));
    EXPECT_FALSE(parse_topology_toml("x = " + std::string(1 << 20, '['), "x"));
    std::string tables = "x = ";
    for (int i = 0; i < 300'000; ++i) tables += "{a=";
    EXPECT_FALSE(parse_topology_toml(tables, "x"));
}

struct Mistake {
    const char* name;
    const char* text;
    const char* told;
};

class TopologyTomlMistake : public testing::TestWithParam<Mistake> {};

TEST_P(TopologyTomlMistake, IsToldWithItsLine) {
    const auto file = parse_topology_toml(GetParam().text, "x");
    ASSERT_FALSE(file);
    EXPECT_NE(told(file).find(GetParam().told), std::string::npos) << told(file);
}

INSTANTIATE_TEST_SUITE_P(
    Table, TopologyTomlMistake,
    testing::Values(
        Mistake{"Nothing", "[node]\n", "x: cluster: no cluster is described"},
        Mistake{"Syntax", "[[switch]\n", "x:1: syntax: "},
        // the library alone asserts or goes astray on these
        Mistake{"ThreeBrackets", "\n[[[switch]]\n", "x:2: syntax: "},
        Mistake{"LetterWithoutBlankTable", "nam\u0261 = 1\n", "x:1: syntax: "},
        Mistake{"EmptyKeyPart", "[a.=]\n", "x:1: syntax: "},
        Mistake{"NoRoot", "[[switch]]\nname=\"a\"\nparent=\"a\"\nrate=\"1gbit\"\n",
                "no switch is the root"},
        Mistake{"ClusterWithoutParent",
                "[[switch]]\nname=\"a\"\n\n[[cluster]]\nname=\"c\"\nhosts=[\"h\"]\n"
                "host_rate=\"1gbit\"\ntrunk_rate=\"1gbit\"\n",
                "x:4: cluster.parent: it is missing, as there are switches"},
        Mistake{"NoRate", "[[switch]]\nname=\"a\"\n[[switch]]\nname=\"b\"\nparent=\"a\"\n",
                "x:3: switch.rate: it is missing; write rate, or both up_rate and down_rate"},
        Mistake{"HalfRate",
                "[[switch]]\nname=\"a\"\n[[switch]]\nname=\"b\"\nparent=\"a\"\nup_rate=\"1gbit\"\n",
                "x:3: switch.down_rate: it is missing"},
        Mistake{"BothBuffers",
                "[[switch]]\nname=\"a\"\n[[switch]]\nname=\"b\"\nparent=\"a\"\nrate=\"1gbit\"\n"
                "buffer=\"1B\"\nup_buffer=\"1B\"\n",
                "x:3: switch.buffer: it contradicts up_buffer and down_buffer"},
        Mistake{"BufferUnit",
                "[[switch]]\nname=\"a\"\n[[hosts]]\nnames=[\"h\"]\nparent=\"a\"\nrate=\"1gbit\"\n"
                "buffer=\"12\"\n",
                "x:7: hosts.buffer: \"12\" has no unit"},
        Mistake{"HostTwice",
                "[[switch]]\nname=\"a\"\n[[hosts]]\nnames=[\"h\",\n\"h\"]\nparent=\"a\"\n"
                "rate=\"1gbit\"\n",
                "x:5: hosts.names: host \"h\" is described twice"},
        Mistake{"HostsWithoutParent", "[[switch]]\nname=\"a\"\n[[hosts]]\nnames=[\"h\"]\n"
                "rate=\"1gbit\"\n", "x:3: hosts.parent: it is missing"},
        Mistake{"NoUplinks",
                "[[switch]]\nname=\"a\"\n[[switch]]\nname=\"b\"\nparent=\"a\"\nrate=\"1gbit\"\nuplinks=0\n",
                "x:7: switch.uplinks: 0 is out of range; write the number of parallel links, 1 .. 64 (default 1)"},
        Mistake{"UplinksInWords",
                "[[switch]]\nname=\"a\"\n[[switch]]\nname=\"b\"\nparent=\"a\"\nrate=\"1gbit\"\nuplinks=\"4\"\n",
                "x:7: switch.uplinks: "},
        Mistake{"UnknownHash",
                "[[switch]]\nname=\"a\"\n[[switch]]\nname=\"b\"\nparent=\"a\"\nrate=\"1gbit\"\nuplinks=4\n"
                "uplink_hash=\"layer2\"\n",
                "x:8: switch.uplink_hash: \"layer2\" is unknown; write \"flow\" (default) or \"pair\""},
        Mistake{"HashOfOneLink",
                "[[switch]]\nname=\"a\"\n[[switch]]\nname=\"b\"\nparent=\"a\"\nrate=\"1gbit\"\nuplink_hash=\"pair\"\n",
                "x:3: switch.uplink_hash: nothing says between how many links it chooses; write uplinks = and their "
                "number as well"},
        Mistake{"UplinksOfTheRoot", "[[switch]]\nname=\"a\"\nuplinks=4\n",
                "x:1: switch.uplinks: the switch has no parent to which they could lead; name the parent, or leave "
                "uplinks out"},
        Mistake{"UnknownKey", "[[switch]]\nname=\"a\"\nrat=\"1gbit\"\n",
                "x:3: switch.rat: unknown key; did you mean rate?"},
        Mistake{"UnknownParent", "[[switch]]\nname=\"a\"\n[[hosts]]\nnames=[\"h\"]\nparent=\"b\"\n"
                "rate=\"1gbit\"\n",
                "x:4: hosts.names: host \"h\" has the parent \"b\", but there is no such switch"}),
    [](const auto& mistake) { return std::string(mistake.param.name); });

}  // namespace
}  // namespace headway

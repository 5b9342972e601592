// SPDX-License-Identifier: Apache-2.0
// Slurm's topology.conf and SimGrid's platforms.
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>

#include "formats/simgrid_platform.hpp"
#include "formats/simgrid_units.hpp"
#include "formats/slurm_topology.hpp"
#include "formats_golden.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;
using test::golden;
using test::told;

constexpr std::uint64_t mbit = 1'000'000;
const SlurmOptions in_mbit{BitsPerSecond{mbit}, std::nullopt};

// ---------------------------------------------------------------------- Slurm

TEST(SlurmTopology, ReadsListsContinuationsAndComments) {
    const auto tree = read_slurm_topology(golden("slurm_topology/tree.conf"), "t", in_mbit);
    ASSERT_TRUE(tree) << told(tree);
    EXPECT_EQ(tree->host_count(), 16U + 19U + 4U);
    EXPECT_EQ(tree->name(NetworkTree::root), "top");
    EXPECT_TRUE(tree->find_host("r0n07"));
    EXPECT_TRUE(tree->find_host("io1s0"));
    EXPECT_EQ(tree->edge(*tree->find_host("gpu4")).up_rate.value, 1000 * mbit);
    EXPECT_EQ(tree->edge(*tree->find_switch("rack1")).down_rate.value, 10'000 * mbit);
}

TEST(SlurmTopology, RoundTripIsGolden) {
    const auto tree = read_slurm_topology(golden("slurm_topology/tree.conf"), "t", in_mbit);
    ASSERT_TRUE(tree);
    const auto written = write_slurm_topology(*tree, in_mbit);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(written->text,
              "SwitchName=top Switches=rack[0-1],storage LinkSpeed=10000\n"
              "SwitchName=rack0 Nodes=r0n[00-15] LinkSpeed=1000\n"
              "SwitchName=rack1 Nodes=r1n[00-15],gpu[1,3-4] LinkSpeed=1000\n"
              "SwitchName=storage Nodes=io0s[0-1],io1s[0-1] LinkSpeed=10000\n");
    EXPECT_TRUE(written->losses.empty());
    const auto again = read_slurm_topology(written->text, "t", in_mbit);
    ASSERT_TRUE(again) << told(again);
    EXPECT_EQ(*again, *tree);
}

TEST(SlurmTopology, UsesTheDefaultRate) {
    const SlurmOptions options{std::nullopt, BitsPerSecond{7 * mbit}};
    const auto tree = read_slurm_topology("SwitchName=s Nodes=n[1-2]\n", "t", options);
    ASSERT_TRUE(tree) << told(tree);
    EXPECT_EQ(tree->edge(1).up_rate.value, 7 * mbit);
    const auto written = write_slurm_topology(*tree, options);
    EXPECT_EQ(written->text, "SwitchName=s Nodes=n[1-2]\n");
    EXPECT_EQ(written->losses.size(), 1U);
}

TEST(SlurmTopology, TellsWhatItCannotWrite) {
    std::vector<NetworkItem> items{{NetworkNodeKind::switch_node, "s", "", {}, false, {}},
                                   {NetworkNodeKind::host, "h", "s", {}, false, {}}};
    items[1].edge = {{5 * mbit}, {6 * mbit}, 1ms, 3, {}};
    const auto written = write_slurm_topology(*NetworkTree::make(items), in_mbit);
    ASSERT_TRUE(written);
    EXPECT_EQ(written->text, "SwitchName=s Nodes=h\n");
    EXPECT_EQ(written->losses.size(), 3U);  // directions, delay, buffer
    items.push_back({NetworkNodeKind::switch_node, "t", "s", items[1].edge, false, {}});
    const auto both = write_slurm_topology(*NetworkTree::make(items), in_mbit);
    ASSERT_FALSE(both);
    EXPECT_NE(both.error().message.find("switch \"s\" has both"), std::string::npos);
}

struct Mistake {
    const char* name;
    const char* text;
    const char* told;
};

class SlurmMistake : public testing::TestWithParam<Mistake> {};

TEST_P(SlurmMistake, IsToldWithItsLine) {
    const auto tree = read_slurm_topology(GetParam().text, "t", in_mbit);
    ASSERT_FALSE(tree);
    EXPECT_NE(told(tree).find(GetParam().told), std::string::npos) << told(tree);
}

INSTANTIATE_TEST_SUITE_P(
    Table, SlurmMistake,
    testing::Values(
        Mistake{"Empty", "# nothing\n", "t: SwitchName: no switch is described"},
        Mistake{"NoSpeed", "\nSwitchName=s Nodes=n\n", "t:2: LinkSpeed: it is missing"},
        Mistake{"BadSpeed", "SwitchName=s Nodes=n LinkSpeed=fast\n",
                "t:1: LinkSpeed: \"fast\" is no positive whole number"},
        Mistake{"OverflowingSpeed", "SwitchName=s Nodes=n LinkSpeed=99999999999999999999\n",
                "t:1: LinkSpeed: \"99999999999999999999\" is more than any link has"},
        Mistake{"HugeSpeed", "SwitchName=s Nodes=n LinkSpeed=99999999\n", "is more than 1600gbit"},
        Mistake{"BadList", "SwitchName=s Nodes=n[0-3 LinkSpeed=1\n", "t:1: Nodes: "},
        Mistake{"NoName", "Nodes=n LinkSpeed=1\n", "t:1: SwitchName: it is missing"},
        Mistake{"Neither", "SwitchName=s LinkSpeed=1\n", "neither nodes nor switches"},
        Mistake{"Both",
                "SwitchName=s Nodes=n Switches=t LinkSpeed=1\nSwitchName=t Nodes=m LinkSpeed=1\n",
                "t:1: Nodes: switch \"s\" has both nodes and switches"},
        Mistake{"BothAndMore",
                "SwitchName=s Nodes=m,n Switches=t LinkSpeed=1\nSwitchName=t Nodes=m LinkSpeed=1\n",
                "t:1: Nodes: switch \"s\" has both nodes and switches"},
        Mistake{"NoValue", "SwitchName=s Nodes= \n", "t:1: \"Nodes=\" is no KEY=VALUE"},
        Mistake{"OpenQuotes", "SwitchName=s Nodes=\"n LinkSpeed=1\n", "t:1: Nodes: "},
        Mistake{"ContinuedByBlanks", "SwitchName=s LinkSpeed=1 Nodes=n1,\\\n  n2\n",
                "t:1: \"n2\" is no KEY=VALUE"},
        Mistake{
            "Blocks", "# a\nBlockName=b Nodes=n[1-4]\nBlockName=c Nodes=n[5-8]\nBlockSizes=4\n",
            "t:2: BlockName: topology/block says which nodes are near each other, but no switch"},
        Mistake{"Yaml", "---\n- topology: all\n", "t: it is Slurm's topology.yaml; name it .yaml"},
        Mistake{"IncludeOfNothing", "Include\n", "t:1: Include: it names no file"},
        Mistake{"Include", "Include racks.conf\n", "t:1: Include: no other file is read here"},
        Mistake{"UnknownKey", "SwitchName=s Nodes=n LinkSpeed=1 Speed=3\n",
                "t:1: \"Speed\": unknown key"},
        Mistake{"KeyTwice", "SwitchName=s Nodes=n nodes=m LinkSpeed=1\n", "it is given twice"},
        Mistake{"NoLineOfItsOwn", "SwitchName=s Switches=t LinkSpeed=1\n",
                "t:1: Switches: switch \"t\" has no line of its own"},
        Mistake{"TwoParents",
                "SwitchName=a Switches=s LinkSpeed=1\nSwitchName=b Switches=s LinkSpeed=1\n"
                "SwitchName=s Nodes=n LinkSpeed=1\n",
                "t:2: Switches: switch \"s\" is already below \"a\""},
        Mistake{"TwoRoots", "SwitchName=a Nodes=n LinkSpeed=1\nSwitchName=b Nodes=m LinkSpeed=1\n",
                "t: SwitchName: 2 switches have no switch above them: a,b; add the switch that "
                "joins them, such as "
                "SwitchName=top Switches=a,b LinkSpeed=NUMBER"},
        Mistake{"RootsNamedTop",
                "SwitchName=top1 Nodes=n LinkSpeed=1\nSwitchName=top Nodes=m LinkSpeed=1\n",
                "such as SwitchName=top_ Switches=top1,top LinkSpeed=NUMBER"},
        Mistake{"NodeTwice",
                "SwitchName=a Switches=b LinkSpeed=1\nSwitchName=b Nodes=n,n LinkSpeed=1\n",
                "t:2: host \"n\" is described twice"}),
    [](const auto& mistake) { return std::string(mistake.param.name); });

/// All by the one tree that they describe.
TEST(SlurmTopology, ReadsLinesAsSlurmDoes) {
    const auto tree = [](const std::string& text) {
        auto read = read_slurm_topology(text, "t", {std::nullopt, BitsPerSecond{mbit}});
        EXPECT_TRUE(read) << text << told(read);
        return read ? std::optional(std::move(*read)) : std::nullopt;
    };
    const auto plain = tree(
        "SwitchName=s0 Nodes=n[1-2],m5\nSwitchName=s1 Nodes=n[3-4]\nSwitchName=top "
        "Switches=s[0-1]\n");
    for (const char* text :
         {"SwitchName=s0 Nodes=n[1-2],\\\nm5\nSwitchName=s1 Nodes=n[3-\\\n4]\nSwitchName=top "
          "Switches=s0,\\ \t\ns1\n",
          "SwitchName = s0 Nodes =n[1-2],m5\r\nSwitchName= s1\tNodes=n[3-4]\r\nswitchname=top "
          "SWITCHES=s[0-1]",
          "SwitchName=\"s0\" Nodes=\"n[1-2], m5\"\nSwitchName=s1 Nodes = \"n3 n4\"\nSwitchName=top "
          "Switches=\"s[0-1]\"\n",
          "SwitchName=s0 Nodes=n[1-2],,m5, # one # two\nSwitchName=s1 "
          "Nodes=n[3-4]#\nSwitchName=top Switches=,s[0-1] \\\n",
          "SwitchName=s0 \\ # one\nNodes=n[1-2],m\\5\n\\\n\nSwitchName=s1 "
          "Nodes=n[3-4]\nSwitchName=top Switches=s[0-1]",
          "SwitchName=s0 Level=0 Nodes=n[1-2],m5\nSwitchName=s1 Level=0 Nodes=n[3-4]\n"
          "SwitchName=top Level=1 Nodes=m5,n[1-4] Switches=s[0-1]\n"}) {
        EXPECT_EQ(tree(text), plain) << text;
    }
}

TEST(SlurmTopology, IncludesFilesBesideIt) {
    const std::map<std::string, std::string> files{
        {"/etc/slurm/racks.conf", "include\tmore/rack1.conf\nSwitchName=s0 Nodes=n1\n"},
        {"/etc/slurm/more/rack1.conf", "SwitchName=s1 Nodes=n2\n"},
        {"/etc/slurm/itself.conf", "Include itself.conf\n"},
        {"/etc/slurm/wrong.conf", "\nSwitchName=s0\n"}};
    SlurmOptions options{std::nullopt, BitsPerSecond{mbit}};
    options.read_file = [&](const std::filesystem::path& path) -> FileResult<std::string> {
        if (const auto file = files.find(path.string()); file != files.end()) return file->second;
        return tl::unexpected(std::vector<FileError>{
            {path.string(), 0, "", "cannot be opened: gone", "name a readable file"}});
    };
    const auto read = [&](const std::string& text) {
        return read_slurm_topology(text, "/etc/slurm/topology.conf", options);
    };
    const auto tree = read("Include racks.conf\nSwitchName=top Switches=s[0-1]\n");
    ASSERT_TRUE(tree) << told(tree);
    EXPECT_EQ(tree->host_count(), 2U);
    EXPECT_NE(told(read("\nInclude none.conf\n"))
                  .find("topology.conf:2: Include: /etc/slurm/none.conf: cannot be opened: gone"),
              std::string::npos);
    EXPECT_NE(told(read("Include itself.conf\n"))
                  .find("itself.conf:1: Include: \"itself.conf\" includes itself"),
              std::string::npos);
    EXPECT_NE(told(read("Include racks.conf\n"))
                  .find("/etc/slurm/topology.conf: SwitchName: 2 switches have no switch above"),
              std::string::npos)
        << "of the whole, by the name of the file that was asked for";
    EXPECT_NE(told(read("Include wrong.conf\nSwitchName=top Switches=s0\n"))
                  .find("/etc/slurm/wrong.conf:2: SwitchName: switch"),
              std::string::npos);
    EXPECT_NE(told(read("Include %h.conf\n")).find("depends on who reads it"), std::string::npos);
}

// ------------------------------------------------------------ topology.yaml

constexpr const char* yaml_tree = R"(---
# the cluster
- topology: all
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: s[1-2]
      - switch: s1
        nodes: n[1-2]
      - {switch: s2, nodes: "n[3-4]"}
)";

TEST(SlurmYaml, ReadsTheTree) {
    const SlurmOptions options{std::nullopt, BitsPerSecond{mbit}};
    const auto same = read_slurm_topology(
        "SwitchName=root Switches=s[1-2]\nSwitchName=s1 Nodes=n[1-2]\n"
        "SwitchName=s2 Nodes=n[3-4]\n",
        "t", options);
    ASSERT_TRUE(same) << told(same);
    const std::string others =
        "- topology: flat\n  flat: true\n- topology: b\n  block:\n    block_sizes: [4]\n"
        "    blocks: [{block: b1, nodes: \"n[1-4]\"}]\n";
    const std::string other_tree =
        "- topology: other\n  tree: {switches: [{switch: s, nodes: x}]}\n";
    for (const std::string& text :
         {std::string(yaml_tree), yaml_tree + others, yaml_tree + other_tree}) {
        const auto tree = read_slurm_yaml(text, "t", options);
        ASSERT_TRUE(tree) << told(tree);
        EXPECT_EQ(*tree, *same);
    }
}

class YamlMistake : public testing::TestWithParam<Mistake> {};

TEST_P(YamlMistake, IsToldInALine) {
    const auto tree = read_slurm_yaml(GetParam().text, "t", {std::nullopt, BitsPerSecond{mbit}});
    ASSERT_FALSE(tree);
    EXPECT_NE(told(tree).find(GetParam().told), std::string::npos) << told(tree);
    EXPECT_EQ(std::ranges::count(told(tree), '\n'), 1) << told(tree);
}

INSTANTIATE_TEST_SUITE_P(
    Table, YamlMistake,
    testing::Values(
        Mistake{"Syntax", "- topology: [\n", "t:2: "},
        Mistake{"Nothing", "", "t: it is no list of topologies"},
        Mistake{"Text", "hello\n", "t: it is no list of topologies"},
        Mistake{"NoKeys", "- 1\n", "t:1: topology: it has no keys"},
        Mistake{"Flat", "- topology: a\n  flat: true\n",
                "t: tree: no topology here is a tree of switches"},
        Mistake{"TwoTrees",
                "- topology: a\n  tree: {switches: [{switch: s, nodes: n}]}\n"
                "- topology: b\n  tree: {switches: [{switch: s, nodes: n}]}\n",
                "t: tree: it describes several trees; write cluster_default: true"},
        Mistake{"NoSwitches", "- topology: a\n  tree: {}\n",
                "t:2: switches: it is missing or no list"},
        Mistake{"SwitchIsText", "- topology: a\n  tree:\n    switches:\n    - s\n",
                "t:4: switch: it has no keys"},
        Mistake{"NodesAreAList",
                "- topology: a\n  tree:\n    switches:\n    - switch: s\n      nodes: [n1, n2]\n",
                "t:5: \"nodes\": it is no text"},
        Mistake{"UnknownKey",
                "- topology: a\n  tree:\n    switches:\n    - switch: s\n      ports: n1\n      "
                "nodes: n1\n",
                "t:5: \"ports\": unknown key"},
        Mistake{"BadList",
                "- topology: a\n  tree:\n    switches:\n    - switch: s\n      nodes: n[1\n",
                "t:4: Nodes: "},
        Mistake{
            "Roots",
            "- topology: a\n  tree: {switches: [{switch: s, nodes: n}, {switch: t, nodes: m}]}\n",
            "2 switches have no switch above them: s,t"}),
    [](const auto& mistake) { return std::string(mistake.param.name); });

TEST(SlurmTopology, WantsTheUnitOfLinkSpeed) {
    const auto tree = read_slurm_topology("SwitchName=s Nodes=n LinkSpeed=10\n", "t", {});
    EXPECT_EQ(told(tree), "t:1: LinkSpeed: it has no unit in this format; say the unit with "
                          "--link-speed-unit, such as 1mbit\n");
}

// -------------------------------------------------------------------- SimGrid

TEST(SimgridUnits, AreRead) {
    EXPECT_EQ(parse_simgrid_bandwidth("125MBps")->value, 1'000'000'000U);
    EXPECT_EQ(parse_simgrid_bandwidth("1Gbps")->value, 1'000'000'000U);
    EXPECT_EQ(parse_simgrid_bandwidth("1.25GBps")->value, 10'000'000'000U);
    EXPECT_EQ(parse_simgrid_bandwidth("1MiBps")->value, 8U << 20);
    EXPECT_EQ(parse_simgrid_bandwidth("1e6")->value, 8'000'000U);
    EXPECT_FALSE(parse_simgrid_bandwidth("1mbps"));
    EXPECT_FALSE(parse_simgrid_bandwidth("-1Mbps"));
    EXPECT_FALSE(parse_simgrid_bandwidth("0"));
    EXPECT_FALSE(parse_simgrid_bandwidth("nan"));
    EXPECT_FALSE(parse_simgrid_bandwidth("1e300GBps"));
    EXPECT_EQ(*parse_simgrid_latency("50us"), 50us);
    EXPECT_EQ(*parse_simgrid_latency("0.5ms"), 500us);
    EXPECT_EQ(*parse_simgrid_latency("1e-5"), 10us);
    EXPECT_EQ(*parse_simgrid_latency("1m"), 60s);
    EXPECT_FALSE(parse_simgrid_latency("1h"));  // longer than 1000 s
    EXPECT_FALSE(parse_simgrid_latency("1 s"));
    for (const std::uint64_t rate : {8ULL, 1'000ULL, 25'000'000ULL, 12'345'678ULL,
                                     1'600'000'000'000ULL}) {
        EXPECT_EQ(parse_simgrid_bandwidth(simgrid_bandwidth({rate}))->value, rate);
    }
}

TEST(SimgridPlatform, ReadsClustersAndZoneRoutes) {
    const auto tree = read_simgrid_platform(golden("simgrid_platform/clusters.xml"), "p");
    ASSERT_TRUE(tree) << told(tree);
    EXPECT_EQ(tree->host_count(), 9U);
    EXPECT_EQ(tree->name(NetworkTree::root), "l-left_router.org");
    EXPECT_TRUE(tree->find_host("l-7.org"));
    const NetworkEdge& wan = tree->edge(*tree->find_switch("rsw"));
    EXPECT_EQ(wan.up_rate.value, 10'000 * mbit);
    EXPECT_EQ(wan.delay, 10ms);
    const NetworkEdge& host = tree->edge(*tree->find_host("r-3"));
    EXPECT_EQ(host.up_rate.value, 2'500 * mbit);
    EXPECT_EQ(host.delay, 10us);
}

TEST(SimgridPlatform, RoundTripsAreGolden) {
    const std::string asymmetric = golden("simgrid_platform/asymmetric.xml");
    const auto tree = read_simgrid_platform(asymmetric, "p");
    ASSERT_TRUE(tree) << told(tree);
    EXPECT_EQ(tree->edge(*tree->find_host("b")).up_rate.value, 100 * mbit);
    EXPECT_EQ(tree->edge(*tree->find_host("b")).down_rate.value, 12'345'678U);
    const auto written = write_simgrid_platform(*tree);
    ASSERT_TRUE(written);
    EXPECT_EQ(written->text, asymmetric);
    EXPECT_TRUE(written->losses.empty());

    const auto clusters = read_simgrid_platform(golden("simgrid_platform/clusters.xml"), "p");
    const auto again = read_simgrid_platform(write_simgrid_platform(*clusters)->text, "p");
    ASSERT_TRUE(again) << told(again);
    EXPECT_EQ(*again, *clusters);
}

TEST(SimgridPlatform, RefusesOneNameForTwo) {
    std::vector<NetworkItem> items{{NetworkNodeKind::switch_node, "s", "", {}, false, {}},
                                   {NetworkNodeKind::host, "s", "s", {}, false, {}}};
    items[1].edge = {{mbit}, {mbit}, {}, {}, {}};
    EXPECT_FALSE(write_simgrid_platform(*NetworkTree::make(items)));
}

std::string platform(const char* inside) {
    return fmt::format("<platform version=\"4.1\"><zone id=\"z\" routing=\"Floyd\">\n"
                       "<router id=\"r\"/><router id=\"q\"/><host id=\"h\" speed=\"1Gf\"/>\n"
                       "<link id=\"l\" bandwidth=\"1Gbps\" sharing_policy=\"SPLITDUPLEX\"/>\n"
                       "<link id=\"m\" bandwidth=\"1Gbps\" sharing_policy=\"SPLITDUPLEX\"/>\n"
                       "{}\n</zone></platform>\n",
                       inside);
}

class SimgridMistake : public testing::TestWithParam<Mistake> {};

TEST_P(SimgridMistake, IsToldWithItsLine) {
    const auto tree = read_simgrid_platform(platform(GetParam().text), "p");
    ASSERT_FALSE(tree);
    EXPECT_NE(told(tree).find(GetParam().told), std::string::npos) << told(tree);
}

INSTANTIATE_TEST_SUITE_P(
    Table, SimgridMistake,
    testing::Values(
        Mistake{"Syntax", "<zone", "p:6: syntax: "},
        Mistake{"Backbone", "<backbone id=\"b\" bandwidth=\"1Gbps\" latency=\"0\"/>",
                "p:5: \"backbone\": such elements cannot be read"},
        Mistake{"ClusterBackbone",
                "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-3\" speed=\"1Gf\" "
                "bw=\"1Gbps\" lat=\"0\" bb_bw=\"7Gbps\"/>",
                "p:5: bb_bw: a backbone of 7gbit can limit 4 hosts of 1gbit, and no tree has a "
                "link that all share"},
        Mistake{"FatTree",
                "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-3\" speed=\"1Gf\" "
                "bw=\"1Gbps\" lat=\"0\" topology=\"FAT_TREE\"/>",
                "p:5: topo_parameters: \"\" is not LEVELS;DOWN,...;UP,...;CABLES,..."},
        Mistake{"FatTreeOfManyWays",
                "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-15\" speed=\"1Gf\" "
                "bw=\"1Gbps\" lat=\"0\" topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\"/>",
                "there are several ways up, and plans know one link"},
        Mistake{"FatTreeOfOtherSize",
                "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-15\" speed=\"1Gf\" "
                "bw=\"1Gbps\" lat=\"0\" topology=\"FAT_TREE\" topo_parameters=\"2;4,5;1,1;1,1\"/>",
                "is a fat tree of 20 hosts, and the cluster has 16"},
        Mistake{"FatTreeOfFewLevels",
                "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-15\" speed=\"1Gf\" "
                "bw=\"1Gbps\" lat=\"0\" topology=\"FAT_TREE\" topo_parameters=\"2;16;1,1;1,1\"/>",
                "has not as many numbers as levels in each part"},
        Mistake{"Torus",
                "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-3\" speed=\"1Gf\" "
                "bw=\"1Gbps\" lat=\"0\" topology=\"TORUS\" topo_parameters=\"2,2\"/>",
                "p:5: topology: \"TORUS\" is no tree"},
        Mistake{"Radical",
                "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-x\" speed=\"1Gf\" "
                "bw=\"1Gbps\" lat=\"0\"/>",
                "radical: \"0-x\" is no list of numbers"},
        Mistake{"Fatpipe", "<link id=\"f\" bandwidth=\"1Gbps\" sharing_policy=\"FATPIPE\"/>",
                "sharing_policy: \"FATPIPE\" cannot be read"},
        Mistake{"Trace", "<link id=\"f\" bandwidth=\"1Gbps\" bandwidth_file=\"x.bw\"/>",
                "its attribute \"bandwidth_file\" cannot be read"},
        Mistake{"RouteOverNothing", "<route src=\"h\" dst=\"r\"></route>",
                "from \"h\" to \"r\" it crosses no link"},
        Mistake{"LongRouteAndAnother",
                "<route src=\"h\" dst=\"r\"><link_ctn id=\"l\"/><link_ctn id=\"m\"/></route>\n"
                "<route src=\"h\" dst=\"q\"><link_ctn id=\"m\"/></route>",
                "link_ctn: link \"m\" would be several cables"},
        Mistake{"OneEndForTwo",
                "<route src=\"h\" dst=\"r\"><link_ctn id=\"l\"/><link_ctn id=\"m\"/></route>\n"
                "<route src=\"h\" dst=\"q\"><link_ctn id=\"l\"/><link_ctn id=\"m\"/></route>",
                "\"r\" and \"q\" are at the end of the same links"},
        Mistake{"LongAndShared",
                "<link id=\"s\" bandwidth=\"1Gbps\"/>\n"
                "<route src=\"h\" dst=\"r\"><link_ctn id=\"s\"/><link_ctn id=\"m\"/></route>",
                "both directions would share the SHARED link \"s\""},
        Mistake{"SharedBothWays",
                "<link id=\"s\" bandwidth=\"1Gbps\"/>\n<route src=\"h\" dst=\"r\">"
                "<link_ctn id=\"s\"/></route>",
                "p:6: link_ctn: both directions would share one SHARED link"},
        Mistake{"LinkOfTwoRoutes",
                "<route src=\"h\" dst=\"r\"><link_ctn id=\"l\"/></route>"
                "<route src=\"r\" dst=\"q\"><link_ctn id=\"l\"/></route>",
                "several routes share this direction of the link"},
        Mistake{"UnknownLink", "<route src=\"h\" dst=\"r\"><link_ctn id=\"k\"/></route>",
                "p:5: link_ctn: there is no link \"k\" before it"},
        Mistake{"UnknownHost", "<route src=\"k\" dst=\"r\"><link_ctn id=\"l\"/></route>",
                "there is no host or router \"k\" before it"},
        Mistake{"NoWayBack",
                "<route src=\"h\" dst=\"r\" symmetrical=\"NO\"><link_ctn id=\"l\"/></route>"
                "<route src=\"q\" dst=\"r\"><link_ctn id=\"m\"/></route>",
                "there is no way back between \"r\" and \"h\""},
        Mistake{"NotJoined", "<route src=\"h\" dst=\"r\"><link_ctn id=\"l\"/></route>",
                "p:2: \"q\" is not joined to \"r\""},
        Mistake{"HostTwice", "<host id=\"h\" speed=\"1Gf\"/>", "p:5: id: \"h\" is described twice"},
        Mistake{"HostInTheMiddle",
                "<route src=\"r\" dst=\"h\"><link_ctn id=\"l\"/></route>"
                "<route src=\"h\" dst=\"q\"><link_ctn id=\"m\"/></route>",
                "p:2: host: host \"h\" is joined to 2 others"}),
    [](const auto& mistake) { return std::string(mistake.param.name); });

/// Hosts a, b and c on a switch, d behind a cable: of each pair the links between it.
std::string full_zone(const std::vector<std::string>& links,
                      const std::function<std::vector<std::string>(int, int)>& hops,
                      bool both_ways) {
    std::string text = "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">";
    for (const char host : std::string("abcd"))
        text += fmt::format("<host id=\"{}\" speed=\"1Gf\"/>", host);
    for (const std::string& link : links) text += fmt::format("<link id={}/>", link);
    for (int from = 0; from < 4; ++from) {
        for (int to = 0; to < 4; ++to) {
            if (from == to || (both_ways && from > to)) continue;
            text += fmt::format("<route src=\"{}\" dst=\"{}\" symmetrical=\"{}\">", "abcd"[from],
                                "abcd"[to], both_ways ? "YES" : "NO");
            for (const std::string& hop : hops(from, to)) text += "<link_ctn id=" + hop + "/>";
            text += "</route>\n";
        }
    }
    return text + "</zone></platform>";
}

TEST(SimgridPlatform, RoutesOverSeveralLinksAreATreeOfThese) {
    const auto name = [](const char* what, int host) {
        return fmt::format("\"{}{}\"", what, "abcd"[host]);
    };
    std::vector<std::string> split, shared;
    for (int host = 0; host < 4; ++host) {
        split.push_back(
            name("l", host) +
            fmt::format(" bandwidth=\"{}Gbps\" latency=\"5us\" sharing_policy=\"SPLITDUPLEX\"",
                        host + 1));
        shared.push_back(name("up", host) + " bandwidth=\"1Gbps\"");
        shared.push_back(name("down", host) + " bandwidth=\"2Gbps\"");
    }
    split.emplace_back(
        "\"wan\" bandwidth=\"10Gbps\" latency=\"1ms\" sharing_policy=\"SPLITDUPLEX\"");
    const auto split_hops = [&](int from, int to) {
        std::vector<std::string> hops{name("l", from) + " direction=\"UP\""};
        if (from == 3) hops.emplace_back("\"wan\" direction=\"UP\"");
        if (to == 3) hops.emplace_back("\"wan\" direction=\"DOWN\"");
        hops.push_back(name("l", to) + " direction=\"DOWN\"");
        return hops;
    };
    const auto unsaid = [&](int from, int to) {
        auto hops = split_hops(from, to);
        for (std::string& hop : hops) hop = hop.substr(0, hop.find(' '));
        return hops;
    };
    for (const bool both_ways : {true, false}) {
        for (const auto& hops :
             std::vector<std::function<std::vector<std::string>(int, int)>>{split_hops, unsaid}) {
            const auto tree = read_simgrid_platform(full_zone(split, hops, both_ways), "p");
            ASSERT_TRUE(tree) << told(tree);
            EXPECT_EQ(tree->switch_count(), 2U);
            const auto host = [&](const char* of) { return *tree->find_host(of); };
            EXPECT_EQ(tree->parent(host("a")), tree->parent(host("b")));
            EXPECT_EQ(tree->parent(host("b")), tree->parent(host("c")));
            EXPECT_EQ(tree->edge(host("c")).up_rate.value, 3'000 * mbit);
            EXPECT_EQ(tree->edge(host("c")).delay, 5us);
            const auto behind = tree->parent(host("d"));
            ASSERT_NE(behind, tree->parent(host("a")));
            const auto wan = behind == NetworkTree::root ? tree->parent(host("a")) : behind;
            EXPECT_EQ(tree->edge(wan).up_rate.value, 10'000 * mbit);
            EXPECT_EQ(tree->edge(wan).delay, 1ms);
        }
    }
    const auto shared_hops = [&](int from, int to) {
        return std::vector{name("up", from), name("down", to)};
    };
    const auto star = read_simgrid_platform(full_zone(shared, shared_hops, false), "p");
    ASSERT_TRUE(star) << told(star);
    EXPECT_EQ(star->switch_count(), 1U);
    EXPECT_EQ(star->edge(*star->find_host("b")).up_rate.value, 1'000 * mbit);
    EXPECT_EQ(star->edge(*star->find_host("b")).down_rate.value, 2'000 * mbit);

    split.back() = "\"bb\" bandwidth=\"10Gbps\" sharing_policy=\"SPLITDUPLEX\"";
    const auto backbone = [&](int from, int to) {
        return std::vector<std::string>{name("l", from), "\"bb\"", name("l", to)};
    };
    EXPECT_NE(told(read_simgrid_platform(full_zone(split, backbone, true), "p"))
                  .find("from \"b\" to \"c\" it crosses other links than a tree of the other "
                        "routes has there"),
              std::string::npos);
}

std::string cluster(const char* more) {
    return fmt::format(
        "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"n\" suffix=\".x\" radical=\"0-7\" "
        "speed=\"1Gf\" "
        "bw=\"1Gbps\" lat=\"10us\" {}/></platform>",
        more);
}

TEST(SimgridPlatform, BackbonesThatLimitNothingAreDelays) {
    for (const char* more : {"bb_bw=\"16Gbps\" bb_lat=\"5us\"",
                             "bb_bw=\"1Gbps\" bb_lat=\"5us\" bb_sharing_policy=\"FATPIPE\""}) {
        const auto tree = read_simgrid_platform(cluster(more), "p");
        ASSERT_TRUE(tree) << told(tree);
        EXPECT_EQ(tree->name(NetworkTree::root), "nc_router.x");
        const auto host = *tree->find_host("n3.x");
        EXPECT_EQ(tree->edge(host).delay, 12'500ns) << "between two hosts 25 us, as SimGrid has it";
        EXPECT_EQ(tree->edge(tree->parent(host)).delay, 2'500ns) << "to the router 15 us";
    }
    const auto none = read_simgrid_platform(cluster("bb_bw=\"16Gbps\""), "p");
    ASSERT_TRUE(none) << told(none);
    EXPECT_EQ(none->switch_count(), 1U);
}

TEST(SimgridPlatform, FatTreesWithOneWayUpAreTrees) {
    const auto tree = read_simgrid_platform(
        cluster("topology=\"FAT_TREE\" topo_parameters=\"3;2,2,2;1,1,1;1,1,1\""), "p");
    ASSERT_TRUE(tree) << told(tree);
    EXPECT_EQ(tree->name(NetworkTree::root), "nc_router.x");
    EXPECT_EQ(tree->switch_count(), 7U);
    EXPECT_EQ(tree->depth(*tree->find_host("n7.x")), 3U);
    EXPECT_EQ(tree->parent(*tree->find_host("n0.x")), tree->parent(*tree->find_host("n1.x")));
    EXPECT_NE(tree->parent(*tree->find_host("n1.x")), tree->parent(*tree->find_host("n2.x")));
    const auto flat =
        read_simgrid_platform(cluster("topology=\"FAT_TREE\" topo_parameters=\"1;8;1;1\""), "p");
    ASSERT_TRUE(flat) << told(flat);
    EXPECT_EQ(*flat, *read_simgrid_platform(cluster(""), "p"));
}

TEST(SimgridPlatform, TellsLoopsAndWrongRoots) {
    EXPECT_NE(told(read_simgrid_platform("<html/>", "p")).find("there is no <platform>"),
              std::string::npos);
    EXPECT_NE(told(read_simgrid_platform("<platform version=\"3\"/>", "p")).find("version"),
              std::string::npos);
    const std::string loop = platform(
        "<router id=\"s\"/><link id=\"n\" bandwidth=\"1Gbps\" sharing_policy=\"SPLITDUPLEX\"/>"
        "<link id=\"o\" bandwidth=\"1Gbps\" sharing_policy=\"SPLITDUPLEX\"/>"
        "<route src=\"r\" dst=\"q\"><link_ctn id=\"l\"/></route>"
        "<route src=\"q\" dst=\"s\"><link_ctn id=\"m\"/></route>"
        "<route src=\"s\" dst=\"r\"><link_ctn id=\"n\"/></route>"
        "<route src=\"h\" dst=\"r\"><link_ctn id=\"o\"/></route>");
    EXPECT_NE(told(read_simgrid_platform(loop, "p")).find("close a loop"), std::string::npos);
}

TEST(SimgridPlatform, SurvivesDeepNesting) {
    std::string text = "<platform version=\"4.1\">";
    for (int i = 0; i < 100'000; ++i) text += "<zone id=\"z\" routing=\"Full\">";
    EXPECT_FALSE(read_simgrid_platform(text, "p"));
    for (int i = 0; i < 100'000; ++i) text += "</zone>";
    text += "</platform>";
    EXPECT_NE(told(read_simgrid_platform(text, "p")).find("nested too deeply"), std::string::npos);
}

}  // namespace
}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "plan/planner_measured.hpp"
#include "topologies.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;

// Lines are counted in what follows; keep them.
constexpr const char* clusters = R"([[cluster]]
name = "a"
hosts = ["a[0-3]"]
prefixes = ["10.1.0.0/16"]
host_rate = "20mbit"
trunk_rate = "25mbit"
[[cluster]]
name = "b"
hosts = ["b[0-3]"]
prefixes = ["10.2.0.0/16", "fd00:2::/64"]
host_rate = "20mbit"
trunk_up_rate = "25mbit"
trunk_down_rate = "30mbit"
trunk_delay = "1ms"
)";

TEST(Config, FeedbackIsOffUnlessEnabled) {
    const auto with = [](const char* keys) {
        return parse_config(std::string("[feedback]\n") + keys + clusters, "h.toml");
    };
    EXPECT_FALSE(parse_config(clusters, "h.toml")->feedback);
    EXPECT_FALSE(with("quiet_s = 5\n")->feedback);
    EXPECT_EQ(with("enabled = true\n")->feedback, FeedbackBounds{});
    const auto all = with(
        "enabled = true\ndivisor_factor_max = 2.25\nretransmitted_max = 0.5\nquiet_s = 7\n");
    ASSERT_TRUE(all);
    EXPECT_EQ(all->feedback, (FeedbackBounds{2'250, 0.5, 7s}));
    const auto wrong = with(
        "enabled = 1\ndivisor_factor_max = 0.9\nretransmitted_max = 0\nquiet_s = 0\nother = 1\n");
    ASSERT_FALSE(wrong);
    ASSERT_EQ(wrong.error().size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(wrong.error()[i].line, i + 2);
}

TEST(Config, MessagesThatAPortDoesNotHoldFromAllHostsArePaced) {
    // Seven others; a port is relied on for three quarters, a message has 90 bytes of headers.
    const auto least = [](const char* last_lines, const char* policy = "") {
        return parse_config(std::string(policy) + clusters + last_lines, "h.toml")
            ->policy.min_message_bytes;
    };
    EXPECT_EQ(least(""), 2048U);
    EXPECT_EQ(least("host_buffer = \"32KiB\"\n"), 2048U);
    EXPECT_EQ(least("host_buffer = \"14000B\"\n"), 14000U * 3 / 4 / 7 - 90);
    EXPECT_EQ(least("host_buffer = \"18000B\"\n"), 18000U * 3 / 4 / 7 - 2 * 90);
    EXPECT_EQ(least("host_buffer = \"2000B\"\n"), 256U);
    EXPECT_EQ(least("host_buffer = \"2000B\"\n", "[policy]\nmin_message_bytes = 4096\n"), 4096U);
}

TEST(Config, ReadsEverything) {
    const std::string text = std::string(R"(
[node]
name = "b2"
interface = "enp1s0"
[policy]
target_utilisation = 0.968
divisor = 3.5
share = "host"
min_message_bytes = 4096
[kernel]
phases = "off"
[daemon]
socket = "/run/other/control.sock"
group = "mpi"
[access]
administrators = "operators"
)") + clusters;
    const auto config = parse_config(text, "x.toml");
    ASSERT_TRUE(config) << config.error().front().to_string();
    EXPECT_EQ(config->node.name, "b2");
    EXPECT_EQ(config->node.interface, "enp1s0");
    EXPECT_EQ(config->policy.plan.target_utilisation_millionths, 968'000U);
    EXPECT_EQ(config->policy.plan.trunk_divisor_thousandths, 3'500U);
    EXPECT_EQ(config->policy.share, SharePolicy::per_host);
    EXPECT_EQ(config->policy.min_message_bytes, 4096U);
    EXPECT_FALSE(config->kernel.phases);
    EXPECT_EQ(config->daemon.socket, "/run/other/control.sock");
    EXPECT_EQ(config->daemon.group, "mpi");
    EXPECT_EQ(config->access.administrators, "operators");
    ASSERT_EQ(config->topology.clusters().size(), 2U);
    const Cluster& a = config->topology.clusters()[0];
    EXPECT_EQ(a.hosts.size(), 4U);
    EXPECT_EQ(a.trunk_up_rate.value, 25'000'000U);
    EXPECT_EQ(a.trunk_down_rate.value, 25'000'000U);
    EXPECT_EQ(a.trunk_delay, 0ns);
    const Cluster& b = config->topology.clusters()[1];
    EXPECT_EQ(b.prefixes.size(), 2U);
    EXPECT_EQ(b.trunk_down_rate.value, 30'000'000U);
    EXPECT_EQ(b.trunk_delay, 1ms);
}

TEST(Config, HasDefaults) {
    const auto config = parse_config(clusters, "x.toml");
    ASSERT_TRUE(config);
    EXPECT_FALSE(config->node.name);
    EXPECT_EQ(config->node.interface, "eth0");
    EXPECT_EQ(config->policy.plan.target_utilisation_millionths, 990'000U);
    EXPECT_FALSE(config->policy.plan.trunk_divisor_thousandths);
    EXPECT_EQ(config->policy.min_message_bytes, 2048U);
    EXPECT_TRUE(config->kernel.phases);
    EXPECT_EQ(config->daemon.socket, "/run/headway/control.sock");
    EXPECT_FALSE(config->daemon.group);
    EXPECT_FALSE(config->access.administrators);
}

TEST(Config, ReadsItsSpellings) {
    const auto divisor = parse_config(std::string("policy.divisor = \"senders\"\n") + clusters, "x");
    ASSERT_TRUE(divisor);
    EXPECT_FALSE(divisor->policy.plan.trunk_divisor_thousandths);
    const auto whole = parse_config(std::string("policy.divisor = 8\n") + clusters, "x");
    EXPECT_EQ(whole->policy.plan.trunk_divisor_thousandths, 8'000U);
    const auto one = parse_config(std::string("policy.target_utilisation = 1\n") + clusters, "x");
    EXPECT_EQ(one->policy.plan.target_utilisation_millionths, 1'000'000U);
}

// The first literal display of headway.toml(5) must be right.
TEST(Config, TheManualsExampleIsRight) {
    std::ostringstream page;
    page << std::ifstream(HEADWAY_SOURCE_DIR "/Documentation/headway.toml.5").rdbuf();
    const std::string text = page.str();
    const auto begin = text.find('\n', text.find(".Bd -literal"));
    const auto end = text.find("\n.Ed", begin);
    ASSERT_NE(end, std::string::npos);
    const auto config = parse_config(text.substr(begin, end - begin), "headway.toml.5");
    ASSERT_TRUE(config) << config.error().front().to_string();
    EXPECT_EQ(config->topology.host_count(), 64U);
    const HostCounts all = config->topology.count(test::every_host(config->topology));
    const auto plan = plan_alltoall(config->topology, config->policy.plan, {all, all, false});
    EXPECT_EQ(plan->rates[0][1]->bits().value, 309'375'000U) << "the text says 309.375 Mbit/s";
}

// ------------------------------------------------------------ single mistakes

struct Mistake {
    const char* name;
    const char* replace;  ///< a line of `clusters`, or "" to put `with` in front
    const char* with;
    std::uint32_t line;
    const char* key;
    const char* words;  ///< in the message
};

std::string with_mistake(const Mistake& mistake) {
    std::string text = clusters;
    const std::string old = mistake.replace;
    if (old.empty()) return std::string(mistake.with) + "\n" + text;
    const auto place = text.find(old);
    EXPECT_NE(place, std::string::npos) << old;
    return text.replace(place, old.size(), mistake.with);
}

class ConfigMistake : public testing::TestWithParam<Mistake> {};

TEST_P(ConfigMistake, IsToldWithItsPlace) {
    const Mistake& mistake = GetParam();
    const auto config = parse_config(with_mistake(mistake), "x.toml");
    ASSERT_FALSE(config);
    ASSERT_EQ(config.error().size(), 1U) << config.error()[1].to_string();
    const FileError& error = config.error().front();
    EXPECT_EQ(error.line, mistake.line) << error.to_string();
    EXPECT_EQ(error.key, mistake.key) << error.to_string();
    EXPECT_NE(error.to_string().find(mistake.words), std::string::npos) << error.to_string();
    EXPECT_FALSE(error.reason.empty());
    EXPECT_FALSE(error.advice.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Table, ConfigMistake,
    testing::Values(
        Mistake{"Syntax", "", "[node", 1, "syntax", "headway.toml(5)"},
        Mistake{"DuplicateKey", "", "node.name = \"a0\"\nnode.name = \"a1\"", 2, "syntax", "name"},
        Mistake{"UnknownTable", "", "[polcy]", 1, "polcy", "did you mean policy?"},
        Mistake{"UnknownTop", "", "zzzzzzzz = 1", 1, "zzzzzzzz", "known here: node, policy"},
        Mistake{"TableIsNone", "", "node = 3", 1, "node", "a table, [node]"},
        Mistake{"UnknownNodeKey", "", "[node]\nnmae = \"a0\"", 2, "node.nmae", "mean name?"},
        Mistake{"NodeNowhere", "", "[node]\nname = \"z0\"", 2, "node.name", "is in no cluster"},
        Mistake{"NodeNumber", "", "[node]\nname = 0", 2, "node.name", "an integer cannot"},
        Mistake{"InterfaceSlash", "", "[node]\ninterface = \"a/b\"", 2, "node.interface",
                "\"a/b\" is no name"},
        Mistake{"InterfaceLong", "", "[node]\ninterface = \"abcdefghijklmnop\"", 2,
                "node.interface", "1 to 15"},
        Mistake{"InterfaceEmpty", "", "[node]\ninterface = \"\"", 2, "node.interface", "1 to 15"},
        Mistake{"UtilisationZero", "", "[policy]\ntarget_utilisation = 0", 2,
                "policy.target_utilisation", "above 0 and up to 1"},
        Mistake{"UtilisationAbove", "", "[policy]\ntarget_utilisation = 1.01", 2,
                "policy.target_utilisation", "above 0 and up to 1"},
        Mistake{"UtilisationText", "", "[policy]\ntarget_utilisation = \"0.9\"", 2,
                "policy.target_utilisation", "without quotes"},
        Mistake{"UtilisationNan", "", "[policy]\ntarget_utilisation = nan", 2,
                "policy.target_utilisation", "above 0"},
        Mistake{"DivisorWord", "", "[policy]\ndivisor = \"sender\"", 2, "policy.divisor",
                "write \"senders\""},
        Mistake{"DivisorBelow", "", "[policy]\ndivisor = 0.5", 2, "policy.divisor", "1 .. 65536"},
        Mistake{"DivisorAbove", "", "[policy]\ndivisor = 65537", 2, "policy.divisor", "1 .. 65536"},
        Mistake{"ShareUnknown", "", "[policy]\nshare = \"node\"", 2, "policy.share",
                "write \"job\" (default) or \"host\""},
        Mistake{"BytesNegative", "", "[policy]\nmin_message_bytes = -1", 2,
                "policy.min_message_bytes", "negative"},
        Mistake{"BytesText", "", "[policy]\nmin_message_bytes = \"2k\"", 2,
                "policy.min_message_bytes", "a string cannot stand here"},
        Mistake{"ViaGone", "", "[kernel]\nvia = \"tc\"", 2, "kernel.via", "unknown"},
        Mistake{"PhasesUnknown", "", "[kernel]\nphases = \"on\"", 2, "kernel.phases",
                "\"auto\" (default) or \"off\""},
        Mistake{"SocketRelative", "", "[daemon]\nsocket = \"sock\"", 2, "daemon.socket",
                "absolute path"},
        Mistake{"SocketLong", "",
                "[daemon]\nsocket = \"/0123456789012345678901234567890123456789012345678901234567"
                "89012345678901234567890123456789012345678901234567\"",
                2, "daemon.socket", "at most 107 bytes"},
        Mistake{"AdministratorsEmpty", "", "[access]\nadministrators = \"\"", 2,
                "access.administrators", "leave the key out"},
        Mistake{"GroupEmpty", "", "[daemon]\ngroup = \"\"", 2, "daemon.group", "leave the key out"},
        Mistake{"NameMissing", "name = \"b\"\n", "\n", 7, "cluster.name", "missing"},
        Mistake{"NameNumber", "name = \"b\"", "name = 2", 8, "cluster.name", "a string"},
        Mistake{"NameEmpty", "name = \"b\"", "name = \"\"", 8, "cluster.name", "no plain name"},
        Mistake{"NameBlank", "name = \"b\"", "name = \"b b\"", 8, "cluster.name", "no plain name"},
        Mistake{"NameTwice", "name = \"b\"", "name = \"a\"", 8, "cluster",
                "cluster \"a\" is described twice"},
        Mistake{"HostsMissing", "hosts = [\"b[0-3]\"]", "", 7, "cluster.hosts", "missing"},
        Mistake{"HostsEmpty", "hosts = [\"b[0-3]\"]", "hosts = []", 9, "cluster.hosts", "empty"},
        Mistake{"HostsString", "hosts = [\"b[0-3]\"]", "hosts = \"b[0-3]\"", 9, "cluster.hosts",
                "an array of strings"},
        Mistake{"HostsNumber", "hosts = [\"b[0-3]\"]", "hosts = [\"b[0-3]\",\n5]", 10,
                "cluster.hosts", "an integer cannot stand here"},
        Mistake{"HostsGrammar", "hosts = [\"b[0-3]\"]", "hosts = [\"b0\",\n\"b[1-3\"]", 10,
                "cluster.hosts", "'[' without a ']'"},
        Mistake{"HostTwice", "hosts = [\"b[0-3]\"]", "hosts = [\"b[0-3]\",\n\"b2\"]", 10,
                "cluster.hosts", "\"b2\" is described twice"},
        Mistake{"HostInTwo", "hosts = [\"b[0-3]\"]", "hosts = [\"b[0-3]\",\n\"a1\"]", 10,
                "cluster.hosts", "\"a1\" is described twice"},
        Mistake{"TooManyHosts", "hosts = [\"b[0-3]\"]", "hosts = [\"b[0-70000]\"]", 9,
                "cluster.hosts", "more than 65536"},
        Mistake{"PrefixesMissing", "prefixes = [\"10.1.0.0/16\"]", "", 1, "cluster.prefixes",
                "missing"},
        Mistake{"PrefixBad", "10.1.0.0/16", "10.1.0.0/40", 4, "cluster.prefixes", "1 .. 32"},
        Mistake{"PrefixHostBits", "10.1.0.0/16", "10.1.2.0/16", 4, "cluster.prefixes",
                "the block is 10.1.0.0/16"},
        Mistake{"PrefixOverlap", "10.2.0.0/16", "10.0.0.0/8", 10, "cluster.prefixes",
                "overlaps 10.1.0.0/16 of cluster \"a\""},
        Mistake{"HostRateMissing", "host_rate = \"20mbit\"", "", 1, "cluster.host_rate", "missing"},
        Mistake{"HostRateNumber", "host_rate = \"20mbit\"", "host_rate = 20", 5,
                "cluster.host_rate", "a string in double quotes"},
        Mistake{"HostRateUnit", "host_rate = \"20mbit\"", "host_rate = \"20MB\"", 5,
                "cluster.host_rate", "unknown unit \"MB\""},
        Mistake{"HostRateZero", "host_rate = \"20mbit\"", "host_rate = \"0mbit\"", 5,
                "cluster.host_rate", "outside 8bit .. 1600gbit"},
        Mistake{"TrunkMissing", "trunk_rate = \"25mbit\"", "", 1, "cluster.trunk_rate", "missing"},
        Mistake{"TrunkDownMissing", "trunk_down_rate = \"30mbit\"", "", 7,
                "cluster.trunk_down_rate", "missing"},
        Mistake{"TrunkBoth", "trunk_rate = \"25mbit\"",
                "trunk_rate = \"25mbit\"\ntrunk_up_rate = \"25mbit\"", 1, "cluster.trunk_rate",
                "contradicts"},
        Mistake{"DelayUnit", "trunk_delay = \"1ms\"", "trunk_delay = \"1\"", 14,
                "cluster.trunk_delay", "no unit"},
        Mistake{"DelayNumber", "trunk_delay = \"1ms\"", "trunk_delay = 1", 14,
                "cluster.trunk_delay", "an integer"},
        Mistake{"ClusterUnknownKey", "trunk_delay = \"1ms\"", "trunk_dealy = \"1ms\"", 14,
                "cluster.trunk_dealy", "did you mean trunk_delay?"}),
    [](const auto& mistake) { return std::string(mistake.param.name); });

TEST(ConfigMistakes, NoClusterAtAll) {
    const auto config = parse_config("[node]\ninterface = \"eth1\"\n", "x.toml");
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().front().to_string(),
              "x.toml: cluster: no cluster is described; add a [[cluster]] table for each cluster "
              "of hosts");
}

TEST(ConfigMistakes, ClusterWithSingleBrackets) {
    const auto config = parse_config("[cluster]\nname = \"a\"\n", "x.toml");
    ASSERT_FALSE(config);
    ASSERT_EQ(config.error().size(), 1U);
    EXPECT_NE(config.error()[0].to_string().find("[[cluster]]"), std::string::npos);
}

TEST(ConfigMistakes, TooManyClusters) {
    std::ostringstream text;
    for (int i = 0; i < 129; ++i) {
        text << "[[cluster]]\nname = \"c" << i << "\"\nhosts = [\"c" << i << "n0\"]\nprefixes = "
             << "[\"10.0." << i << ".0/24\"]\nhost_rate = \"1gbit\"\ntrunk_rate = \"1gbit\"\n";
    }
    const auto config = parse_config(text.str(), "x.toml");
    ASSERT_FALSE(config);
    EXPECT_NE(config.error()[0].to_string().find("129 clusters"), std::string::npos);
}

TEST(ConfigMistakes, AreAllToldInTheOrderOfLines) {
    const auto config = parse_config(R"([node]
interfaces = "eth0"
[policy]
min_message_bytes = -1
[[cluster]]
name = "a"
hosts = ["a[0-3"]
prefixes = ["10.1.0.1/16"]
host_rate = "fast"
trunk_rate = "25mbit"
)", "x.toml");
    ASSERT_FALSE(config);
    std::vector<std::uint32_t> lines;
    for (const FileError& error : config.error()) lines.push_back(error.line);
    EXPECT_EQ(lines, (std::vector<std::uint32_t>{2, 4, 7, 8, 9}));
    EXPECT_EQ(config.error()[1].to_string(),
              "x.toml:4: policy.min_message_bytes: it is negative; write 0 to pace every collective");
}

// ----------------------------------------------------------------------- trees

// The daemon reads the same tables: a star said as a tree is one to it, too.
TEST(ConfigTree, DaemonTakesAStarOfSwitches) {
    const auto config = parse_config(R"([[switch]]
name = "core"
[[cluster]]
name = "a"
parent = "core"
hosts = ["a[0-3]"]
prefixes = ["10.1.0.0/16"]
host_rate = "20mbit"
trunk_rate = "25mbit"
trunk_delay = "1ms"
[[cluster]]
name = "b"
parent = "core"
hosts = ["b[0-3]"]
prefixes = ["10.2.0.0/16"]
host_rate = "20mbit"
trunk_rate = "30mbit"
trunk_delay = "2ms"
)", "x.toml");
    ASSERT_TRUE(config) << config.error().front().to_string();
    EXPECT_EQ(config->topology.host_count(), 8U);
    EXPECT_EQ(config->topology.delay(0, 1), 3ms);
}

// Trunks on two levels, one of them of a switch without hosts.
TEST(ConfigTree, DaemonTakesATreeOfClusters) {
    const auto config = parse_config(R"([[switch]]
name = "core"
[[switch]]
name = "row"
parent = "core"
rate = "40mbit"
delay = "2ms"
[[cluster]]
name = "a"
parent = "row"
hosts = ["a[0-3]"]
prefixes = ["10.1.0.0/16"]
host_rate = "20mbit"
trunk_rate = "25mbit"
trunk_delay = "1ms"
[[cluster]]
name = "b"
parent = "core"
hosts = ["b[0-3]"]
prefixes = ["10.2.0.0/16"]
host_rate = "20mbit"
trunk_rate = "30mbit"
)", "x.toml");
    ASSERT_TRUE(config) << config.error().front().to_string();
    ASSERT_EQ(config->topology.switches().size(), 1U);
    EXPECT_EQ(config->topology.switches()[0].trunk_up_rate.value, 40'000'000U);
    EXPECT_EQ(config->topology.delay(0, 1), 3ms);
}

// A cluster without prefixes can be predicted, not paced.
TEST(ConfigTree, DaemonRefusesWhatItCannotPlanFor) {
    const char* const loose = R"([[switch]]
name = "core"
[[hosts]]
names = ["login"]
parent = "core"
rate = "1gbit"
)";
    const auto unaddressed = parse_config(loose, "x.toml");
    ASSERT_FALSE(unaddressed);
    EXPECT_EQ(unaddressed.error().front().to_string(),
              "x.toml:3: hosts: the prefixes of the hosts of \"core\" are not known; describe them as "
              "a [[cluster]] with its prefixes");
    EXPECT_TRUE(parse_config(loose, "x.toml", PrefixesAre::optional));
    const auto directions = parse_config(R"([[cluster]]
name = "a"
hosts = ["a[0-3]"]
prefixes = ["10.1.0.0/16"]
host_up_rate = "20mbit"
host_down_rate = "10mbit"
trunk_rate = "25mbit"
)", "x.toml");
    ASSERT_FALSE(directions);
    EXPECT_NE(directions.error().front().to_string().find("by direction"), std::string::npos);
}

// ----------------------------------------------------------------------- files

class ConfigFile : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/headway-config-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        dir_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(dir_); }

    std::filesystem::path write(const std::string& text) const {
        std::ofstream(dir_ / "headway.toml") << text;
        return dir_ / "headway.toml";
    }

    std::filesystem::path dir_;
};

TEST_F(ConfigFile, IsReadAndNamed) {
    const auto file = write(clusters);
    const auto config = load_config(file);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->file, file.string());
}

TEST_F(ConfigFile, MeasurementsAreReadFromItsFolder) {
    const std::string toml = std::string(clusters) + "[network]\nmeasured = \"measured.json\"\n";
    const auto missing = load_config(write(toml));
    ASSERT_FALSE(missing);
    const std::string told = missing.error()[0].to_string();
    EXPECT_NE(told.find("network.measured: " + (dir_ / "measured.json").string()), std::string::npos) << told;
    EXPECT_GT(missing.error()[0].line, 0U);

    std::ofstream(dir_ / "measured.json")
        << R"({"format": "headway-measure", "hosts": [{"name": "a0"}, {"name": "b0"}], "models": [],
               "messages": {"least_retransmission_timeout_s": 0.05}})";
    const auto config = load_config(write(toml));
    ASSERT_TRUE(config) << config.error()[0].to_string();
    ASSERT_NE(config->topology.measured(), nullptr);
    EXPECT_EQ(rto_s(config->topology), 0.05);
    EXPECT_EQ(load_config(write(clusters))->topology.measured(), nullptr);
}

TEST_F(ConfigFile, MissingOrNoFile) {
    const auto missing = load_config(dir_ / "none.toml");
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error()[0].to_string().find("No such file"), std::string::npos);
    const auto directory = load_config(dir_);
    ASSERT_FALSE(directory);
    EXPECT_NE(directory.error()[0].to_string().find("is a directory"), std::string::npos);
}

TEST_F(ConfigFile, TooLargeOrBinary) {
    EXPECT_FALSE(load_config(write(std::string(5 << 20, '#'))));
    EXPECT_FALSE(load_config(write(std::string(100, '\0'))));
    EXPECT_FALSE(load_config(write("\xff\xfe[node]")));
}

}  // namespace
}  // namespace headway

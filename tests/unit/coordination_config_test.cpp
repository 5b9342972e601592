// SPDX-License-Identifier: Apache-2.0
// [coordination] of headway.toml, and the trunk that it makes shared.
#include <gtest/gtest.h>

#include "config/config.hpp"
#include "daemon/coordination_loop.hpp"
#include "jobs/node_planner.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* two_clusters = R"(
[[cluster]]
name = "a"
hosts = ["a[1-4]"]
prefixes = ["10.1.0.0/16"]
host_rate = "20mbit"
trunk_rate = "25mbit"
[[cluster]]
name = "b"
hosts = ["b[1-4]"]
prefixes = ["10.2.0.0/16"]
host_rate = "20mbit"
trunk_rate = "24mbit"
)";

FileResult<Config> parse(const std::string& coordination) {
    return parse_config("[node]\nname = \"a2\"\n[coordination]\n" + coordination + two_clusters, "x");
}

constexpr const char* etcd = "via = \"etcd\"\nendpoints = [\"http://e1:2379\", \"unix:/run/etcd\"]\n";

TEST(CoordinationConfig, IsOffUnlessAskedFor) {
    EXPECT_FALSE(parse_config(two_clusters, "x")->coordination);
    EXPECT_FALSE(parse("")->coordination);
    EXPECT_FALSE(parse("via = \"none\"\n")->coordination);
    const auto planner = NodePlanner::make(*parse("via = \"none\"\n"), "");
    EXPECT_FALSE(planner->shared_trunk());
    EXPECT_FALSE(planner->layout().guard);
}

TEST(CoordinationConfig, HasDefaults) {
    const auto config = parse(etcd)->coordination;
    ASSERT_TRUE(config);
    EXPECT_EQ(config->endpoints.size(), 2U);
    EXPECT_EQ(config->prefix, "/headway/");
    EXPECT_EQ(config->policy, SharePolicy::per_job);
    EXPECT_EQ(config->timing, LeaseTiming());
}

TEST(CoordinationConfig, ReadsEverything) {
    const auto config = parse(std::string(etcd) + R"(
prefix = "/site/"
ca_file = "/ca"
cert_file = "/cert"
key_file = "/key"
user = "node"
password_file = "/password"
share = "host"
fallback = "1mbit"
lease_s = 20
expires_ms = 4000
margin_ms = 500
weights = { solver = 3 }
)");
    ASSERT_TRUE(config) << config.error()[0].to_string();
    const CoordinationConfig& read = *config->coordination;
    EXPECT_EQ(read.policy, SharePolicy::per_host);
    EXPECT_EQ(read.fallback, BitsPerSecond{1'000'000});
    EXPECT_EQ(read.timing.lease, 20s);
    EXPECT_EQ(read.timing.expires, 4s);
    EXPECT_EQ(read.timing.refresh_every, 1s);
    EXPECT_EQ(read.timing.keep_alive_every, 3s);
    EXPECT_EQ(read.timing.margin, 500ms);
    EXPECT_EQ(read.weights.at("solver"), 3U);
    const auto command = etcd_command(read, "a", "a2");
    const std::vector<std::string> rest(command.begin() + 1, command.end());
    EXPECT_EQ(rest, (std::vector<std::string>{
                        "--endpoint", "http://e1:2379", "--endpoint", "unix:/run/etcd", "--prefix",
                        "/site/a/", "--host", "a2", "--ca-file", "/ca", "--cert-file", "/cert",
                        "--key-file", "/key", "--user", "node", "--password-file", "/password",
                        "--timeout-ms", "1000"}));
}

TEST(CoordinationConfig, TheOldNameOfShareIsRefusedWithTheNewOne) {
    for (const auto& [old, now] : {std::pair{"equal-per-host", "host"}, {"equal-per-job", "job"}}) {
        const auto config = parse("policy = \"" + std::string(old) + "\"\n");
        ASSERT_FALSE(config);
        const std::string told = config.error()[0].to_string();
        EXPECT_NE(told.find("it is called share"), std::string::npos) << told;
        EXPECT_NE(told.find("write share = \"" + std::string(now) + "\""), std::string::npos) << told;
    }
}

TEST(CoordinationConfig, TellsMistakes) {
    struct Mistake {
        const char* text;
        const char* key;
    };
    for (const auto& [text, key] : std::initializer_list<Mistake>{
             {"via = \"zookeeper\"\n", "coordination.via"},
             {"via = \"etcd\"\n", "coordination.endpoints"},
             {"endpoints = [\"e1:2379\"]\n", "coordination.endpoints"},
             {"prefix = \"headway\"\n", "coordination.prefix"},
             {"ca_file = \"ca\"\n", "coordination.ca_file"},
             {"cert_file = \"/cert\"\n", "coordination.cert_file"},
             {"user = \"node\"\n", "coordination.user"},
             {"share = \"fair\"\n", "coordination.share"},
             {"policy = \"equal-per-host\"\n", "coordination.policy"},
             {"fallback = \"1\"\n", "coordination.fallback"},
             {"weights = 3\n", "coordination.weights"},
             {"weights = { a = 0 }\n", "coordination.weights"},
             {"lease_s = 0\n", "coordination.lease_s"},
             {"lease_s = 86401\n", "coordination.lease_s"},
             {"lease_s = 86400000\n", "coordination.lease_s"},
             {"margin_ms = 86400001\n", "coordination.margin_ms"},
             {"lease_s = 5\n", "coordination.lease_s"},
             {"lease = 5\n", "coordination.lease"}}) {
        const auto config = parse(text);
        ASSERT_FALSE(config) << text;
        EXPECT_EQ(config.error().size(), 1U) << text;
        EXPECT_EQ(config.error()[0].key, key) << config.error()[0].to_string();
    }
}

TEST(SharedTrunk, IsTheOwnClustersTowardsTheCentre) {
    const auto planner = NodePlanner::make(*parse(etcd), "");
    ASSERT_TRUE(planner) << planner.error().message;
    const NodeTrunk& trunk = *planner->shared_trunk();
    // one cable with b's, which is slower, and 99 % of it
    EXPECT_EQ(trunk.trunk.capacity, BytesPerSecond{24'000'000 / 8 * 99 / 100});
    EXPECT_EQ(trunk.trunk.hosts, 4U);
    EXPECT_EQ(trunk.hosts[trunk.host], "a2");
    EXPECT_EQ(trunk.trunk.fallback, default_fallback(trunk.trunk.capacity, 4));
    EXPECT_EQ(trunk.guard, (ClassLease{trunk.trunk.fallback, 2s}));
    EXPECT_EQ(planner->layout().guard, trunk.guard);
}

TEST(SharedTrunk, FallbackThatDoesNotFitIsRefused) {
    const auto above_edge = NodePlanner::make(*parse(std::string(etcd) + "fallback = \"21mbit\"\n"), "");
    ASSERT_FALSE(above_edge);
    EXPECT_NE(above_edge.error().message.find("host_rate"), std::string::npos);
    const auto above_trunk = NodePlanner::make(*parse(std::string(etcd) + "fallback = \"7mbit\"\n"), "");
    ASSERT_FALSE(above_trunk);
    EXPECT_NE(above_trunk.error().message.find("more than the trunk's"), std::string::npos);
}

}  // namespace
}  // namespace headway::test

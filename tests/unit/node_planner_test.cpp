// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/hostlist.hpp"
#include "jobs/node_planner.hpp"
#include "jobs/plan_json.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

// Trunks on two levels, the upper ones of 30 Mbit/s: 8 x 8 pairs share 29.7, so
// every class, one for each cluster, gets 4 x 0.4640625 Mbit/s.  Nodes of both
// sides are told the same of each other.
TEST(NodePlannerTree, ANodeOfAnyClusterGetsItsShareOfTheUpperTrunk) {
    Config config;
    config.topology = two_level_topology(30);
    const std::vector<std::string> all{"a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3",
                                       "c0", "c1", "c2", "c3", "d0", "d1", "d2", "d3"};
    for (const char* name : {"a0", "c3"}) {
        const auto planner = NodePlanner::make(config, name);
        ASSERT_TRUE(planner) << planner.error().message;
        ASSERT_EQ(planner->layout().classes.size(), 4U);
        const std::string list = format_hostlist(all);
        const auto pattern = planner->pattern_of(
            {find_operation("alltoall"), list, list, false, 1, std::nullopt});
        ASSERT_TRUE(pattern) << pattern.error().message;
        const auto plan = planner->plan(*pattern, std::nullopt);
        ASSERT_TRUE(plan && plan->paced);
        EXPECT_EQ(plan->rates, std::vector<ClassRate>(4, BytesPerSecond{1'856'250 / 8}));
        const auto whole = planner->plan_hosts({find_operation("alltoall"), all, 1, std::nullopt});
        ASSERT_TRUE(whole);
        const Json json = plan_json(config.topology, config.policy.plan, *whole);
        EXPECT_EQ(json["limiting_link"]["cluster"], "left");
        EXPECT_EQ(json["limiting_link"]["senders"], 8);
    }
}

std::vector<std::string> demo_hosts() {
    return {"a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3"};
}

/// Two clusters of so many hosts each, of 6.25 Mbit/s of trunk for each.
NodePlanner planner_of(int hosts_per_cluster) {
    const auto trunk_mbit = static_cast<std::uint64_t>(hosts_per_cluster) * 25 / 4;
    Config config;
    config.topology = *Topology::make({make_cluster(0, hosts_per_cluster, 20, trunk_mbit),
                                       make_cluster(1, hosts_per_cluster, 20, trunk_mbit)});
    auto planner = NodePlanner::make(config, "a0");
    EXPECT_TRUE(planner) << planner.error().message;
    return std::move(*planner);
}

// The planner plans once what all nodes have in common; each has the rates that it plans for
// itself.
TEST(NodePlannerHosts, AnotherNodePlansTheSameAsItWouldByItself) {
    Config config;
    config.topology = two_level_topology(30);
    const std::string list = "a[0-3],b[0-3],c[0-3],d[0-2]";
    const auto first = NodePlanner::make(config, "a0");
    ASSERT_TRUE(first);
    EXPECT_FALSE(first->on_node("z"));
    const auto distrusted = [&](NodePlanner planner) {
        planner.distrust(1'200);
        return planner;
    };
    for (const char* operation : {"alltoall", "allgather", "gather", "bcast"}) {
        for (const bool trusts : {true, false}) {
            const NodePlanner from = trusts ? *first : distrusted(*first);
            for (const char* name : {"a0", "a1", "b3", "c0", "d2"}) {
                const CollectiveHosts hosts{find_operation(operation),
                                            list,
                                            list,
                                            false,
                                            2,
                                            find_operation(operation)->as == PlannedAs::gather
                                                ? std::optional<std::string>("a0")
                                                : std::nullopt};
                const NodePlanner alone = trusts ? *NodePlanner::make(config, name)
                                                 : distrusted(*NodePlanner::make(config, name));
                const auto expected = alone.plan(hosts, 65'536),
                           plan = from.on_node(name)->plan(hosts, 65'536);
                ASSERT_EQ(expected.has_value(), plan.has_value());
                if (!plan) continue;
                EXPECT_EQ(plan->rates, expected->rates) << operation << " on " << name;
                EXPECT_EQ(plan->reason, expected->reason) << operation << " on " << name;
            }
        }
    }
}

// The text is a client's: short to write, long to expand.
TEST(NodePlannerHosts, AListIsExpandedOnceAndWithinBounds) {
    const NodePlanner planner = planner_of(4);
    const auto hosts = planner.hosts_of("a[0-3],b1");
    ASSERT_TRUE(hosts) << hosts.error().message;
    EXPECT_EQ(planner.config().topology.count(**hosts).per_cluster, (std::vector<std::uint32_t>{4, 1}));
    EXPECT_EQ(*hosts, *planner.hosts_of("a[0-3],b1"));
    EXPECT_NE(planner.hosts_of("a[0-9999999]").error().message.find("more than 16384"), std::string::npos);
    EXPECT_NE(planner.hosts_of(",").error().message.find("names no host"), std::string::npos);
    EXPECT_EQ(planner.hosts_of("a0,z").error().message, "not in the topology: \"z\"");
    const auto refused = planner.pattern_of({find_operation("alltoall"), "a0,b[", "a0", false, 1, std::nullopt});
    EXPECT_EQ(refused.error().message, "job_hosts: \"b[\" has a '[' without a ']'");
}

// A node has a connection for each of its ranks to each rank of the job.
TEST(NodePlannerAlgorithm, AllAtOnceWhereItIsPacedUpTo1024Ranks) {
    struct Case {
        int per_cluster;
        std::uint32_t ranks_per_host;
        bool is_named;
    };
    for (const auto [per_cluster, ranks_per_host, is_named] :
         {Case{4, 1, true}, Case{65, 1, true}, Case{64, 8, true}, Case{64, 9, false}}) {
        const NodePlanner planner = planner_of(per_cluster);
        std::vector<std::string> all;
        for (const Cluster& cluster : planner.config().topology.clusters()) {
            all.insert(all.end(), cluster.hosts.begin(), cluster.hosts.end());
        }
        for (const char* operation : {"alltoall", "alltoallv"}) {
            CollectiveHosts hosts{find_operation(operation), format_hostlist(all),
                                  format_hostlist(all), false, ranks_per_host, std::nullopt};
            hosts.algorithm.able_to_linear = true;
            const std::uint64_t bytes = ranks_per_host == 1 ? 65'536 : 2048;  // paced at all
            const auto plan = planner.plan(*planner.pattern_of(hosts), bytes);
            ASSERT_TRUE(plan && plan->paced) << per_cluster << (plan ? plan->reason : plan.error().message);
            EXPECT_EQ(plan->algorithm.has_value(), is_named)
                << operation << ", " << 2 * per_cluster << " hosts, " << ranks_per_host << " ranks each";
        }
    }
}

/// Plans for all hosts, with messages of `bytes`.
NodePlan plan_demo(const NodePlanner& planner, std::string_view operation, std::uint64_t bytes) {
    const std::string all = format_hostlist(demo_hosts());
    CollectiveHosts hosts{find_operation(operation), all, all, false, 1, std::nullopt};
    if (operation == "gather") hosts.root = "b0";
    hosts.algorithm.able_to_linear = true;
    const auto pattern = planner.pattern_of(hosts);
    EXPECT_TRUE(pattern) << pattern.error().message;
    const auto plan = planner.plan(*pattern, bytes);
    EXPECT_TRUE(plan) << plan.error().message;
    return *plan;
}

// Buffers that would hold everything are as good as none to who does not trust them.
TEST(NodePlannerDistrust, NoBufferCountsAndAllLinksAreDividedFurther) {
    Config config;
    auto clusters = demo_topology().clusters();
    for (Cluster& cluster : clusters) {
        cluster.trunk_buffer_bytes = cluster.host_buffer_bytes = 64 << 20;
    }
    config.topology = *Topology::make(clusters);
    auto planner = NodePlanner::make(config, "a0");
    ASSERT_TRUE(planner) << planner.error().message;
    for (const std::string_view operation : {"alltoall", "gather"}) {
        EXPECT_FALSE(plan_demo(*planner, operation, 65'536).paced) << operation;
    }
    EXPECT_EQ(plan_demo(*planner, "gather", 65'536).algorithm, ClientAlgorithm::linear) << "nothing is lost by that";
    for (Cluster& cluster : clusters) cluster.trunk_delay = std::chrono::milliseconds(200);
    Config far = config;
    far.topology = *Topology::make(clusters);
    EXPECT_EQ(plan_demo(*NodePlanner::make(far, "a0"), "gather", 65'536).algorithm, ClientAlgorithm::linear)
        << "nobody passes messages on, each of which would take 400 ms";

    planner->distrust(divisor_one);
    const NodePlan whole = plan_demo(*planner, "alltoall", 65'536);
    ASSERT_TRUE(whole.paced) << whole.reason;
    EXPECT_EQ(whole.rates[0], ClassRate(BytesPerSecond{773'437}));
    const NodePlan gathered = plan_demo(*planner, "gather", 65'536);
    ASSERT_TRUE(gathered.paced) << gathered.reason;

    planner->distrust(2 * divisor_one);
    EXPECT_EQ(plan_demo(*planner, "alltoall", 65'536).rates[0], ClassRate(BytesPerSecond{386'718}));
    const NodePlan slower = plan_demo(*planner, "gather", 65'536);
    ASSERT_TRUE(slower.paced) << slower.reason;
    for (std::size_t i = 0; i < slower.rates.size(); ++i) {
        ASSERT_EQ(slower.rates[i].has_value(), gathered.rates[i].has_value());
        if (!slower.rates[i]) continue;
        EXPECT_NEAR(static_cast<double>(slower.rates[i]->value),
                    static_cast<double>(gathered.rates[i]->value) / 2, 1);
    }

    planner->distrust(std::nullopt);
    EXPECT_FALSE(plan_demo(*planner, "alltoall", 65'536).paced);
}

}  // namespace
}  // namespace headway::test

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "daemon/node_planner.hpp"
#include "daemon/plan_json.hpp"
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
        const auto pattern = planner->pattern_of(
            {find_operation("alltoall"), all, all, false, 1, std::nullopt});
        ASSERT_TRUE(pattern) << pattern.error().message;
        const auto plan = planner->plan(*pattern, std::nullopt);
        ASSERT_TRUE(plan && plan->paced);
        EXPECT_EQ(plan->rates, std::vector<ClassRate>(4, BytesPerSecond{1'856'250 / 8}));
        const auto whole = planner->plan_hosts({all, 1, std::nullopt});
        ASSERT_TRUE(whole);
        const Json json = plan_json(config.topology, config.policy.plan, *whole);
        EXPECT_EQ(json["limiting_link"]["cluster"], "left");
        EXPECT_EQ(json["limiting_link"]["senders"], 8);
    }
}

}  // namespace
}  // namespace headway::test

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "models/what_if.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

Topology changed(const std::vector<std::string>& changes) {
    Topology topology = demo_topology();
    const auto applied = apply_what_if(topology, changes);
    EXPECT_TRUE(applied) << applied.error().message;
    return topology;
}

TEST(WhatIf, ChangesEveryClusterOrOne) {
    const Topology faster = changed({"trunk=50mbit", "host@b=10mbit", "delay=5ms"});
    EXPECT_EQ(faster.clusters()[0].trunk_up_rate.value, 50 * mbit);
    EXPECT_EQ(faster.clusters()[1].trunk_down_rate.value, 50 * mbit);
    EXPECT_EQ(faster.clusters()[0].host_rate.value, 20 * mbit);
    EXPECT_EQ(faster.clusters()[1].host_rate.value, 10 * mbit);
    EXPECT_EQ(faster.clusters()[1].trunk_delay, 5ms);

    const Topology other = changed({"trunk_up@a=1mbit", "trunk_down@a=2mbit",
                                    "trunk_buffer=64KiB", "host_buffer@a=1MiB"});
    EXPECT_EQ(other.clusters()[0].trunk_up_rate.value, 1 * mbit);
    EXPECT_EQ(other.clusters()[0].trunk_down_rate.value, 2 * mbit);
    EXPECT_EQ(other.clusters()[1].trunk_buffer_bytes, 65536U);
    EXPECT_EQ(other.clusters()[0].host_buffer_bytes, 1048576U);
    EXPECT_FALSE(other.clusters()[1].host_buffer_bytes.has_value());
    EXPECT_EQ(changed({"uplinks@b=4"}).clusters()[1].trunk_links, ParallelLinks{4});
}

TEST(WhatIf, ChangesSwitchesToo) {
    Topology topology = two_level_topology(40);
    ASSERT_TRUE(apply_what_if(topology, {"trunk=50mbit", "trunk@right=60mbit", "delay@left=1ms"}));
    EXPECT_EQ(topology.clusters()[3].trunk_up_rate.value, 50 * mbit);
    EXPECT_EQ(topology.switches()[0].trunk_up_rate.value, 50 * mbit);
    EXPECT_EQ(topology.switches()[1].trunk_down_rate.value, 60 * mbit);
    EXPECT_EQ(topology.delay(0, 2), 1ms);
    EXPECT_FALSE(apply_what_if(topology, {"host@left=1gbit"})) << "it has no hosts";
}

TEST(WhatIf, SaysWhatIsWrongAndChangesNothing) {
    for (const auto& [change, reason] : std::vector<std::pair<std::string, std::string>>{
             {"trunk", "is no change"},
             {"tronk=1gbit", "did you mean trunk?"},
             {"trunk=fast", "trunk: "},
             {"trunk@z=1gbit", "there is no cluster \"z\""},
             {"delay=5", "delay: "},
             {"uplinks=65", "is no number from 1 to 64"},
             {"uplinks=4x", "is no number from 1 to 64"},
             {"trunk_buffer=much", "trunk_buffer: "}}) {
        Topology topology = demo_topology();
        const auto applied = apply_what_if(topology, {"host=1gbit", change});
        ASSERT_FALSE(applied) << change;
        EXPECT_NE(applied.error().message.find("--what-if"), std::string::npos);
        EXPECT_NE(applied.error().message.find(reason), std::string::npos)
            << applied.error().message;
        EXPECT_EQ(topology.clusters()[0].host_rate.value, 20 * mbit);
    }
}

}  // namespace
}  // namespace headway::test

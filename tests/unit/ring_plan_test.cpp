// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plan/ring_plan.hpp"
#include "plan/traffic_plan.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

constexpr std::uint64_t kib = 1024;

RingPlan plan_of(const Topology& topology, std::optional<std::uint64_t> bytes,
                 RingOperation operation = RingOperation::allgather,
                 std::uint32_t ranks_per_host = 1) {
    std::vector<std::uint32_t> per_cluster;
    for (const Cluster& cluster : topology.clusters())
        per_cluster.push_back(static_cast<std::uint32_t>(cluster.hosts.size()));
    const HostCounts all{per_cluster};
    auto plan = plan_ring(topology, PlanPolicy{}, {all, all, false, ranks_per_host}, operation, bytes);
    EXPECT_TRUE(plan) << plan.error().message;
    return plan ? *plan : RingPlan{};
}

// 4 x 20 Mbit/s can come to a trunk of 25.
TEST(RingPlanOf, TheDemoGoesRound) {
    const RingPlan plan = plan_of(demo_topology(), 64 * kib);
    EXPECT_TRUE(plan.is_named) << plan.reason;
    EXPECT_NE(plan.reason.find("trunk of a"), std::string::npos) << plan.reason;
    EXPECT_TRUE(plan_of(demo_topology(), std::nullopt).is_named);
    EXPECT_FALSE(plan_of(demo_topology(), std::nullopt).predicted);
}

// 69 676 wire bytes at 20 Mbit/s, the edges: 27.87 ms a step.
TEST(RingPlanOf, TimesAreStepsOfTheSlowestLink) {
    const double step_s = 69'676 * 8 / 20e6 + 50e-6;
    const Topology topology = demo_topology();
    const auto steps = [&](RingOperation operation, std::uint32_t ranks_per_host = 1) {
        return plan_of(topology, 64 * kib, operation, ranks_per_host).predicted->high_s / step_s;
    };
    EXPECT_NEAR(steps(RingOperation::allgather), 7, 1e-9);
    EXPECT_NEAR(steps(RingOperation::chain), 8 + 6.0 / 4, 1e-9);
    // seven steps of two ranks' blocks
    const RingPlan two_ranks = plan_of(topology, 64 * kib, RingOperation::allgather, 2);
    EXPECT_NEAR(two_ranks.predicted->high_s, 7 * (139'262 * 8 / 20e6 + 50e-6), 1e-9);
    EXPECT_EQ(plan_of(topology, 64 * kib).predicted->timeouts, 0U);
}

TEST(RingPlanOf, ASlowTrunkIsTheSlowestLink) {
    const Topology topology =
        *Topology::make({make_cluster(0, 4, 20, 5), make_cluster(1, 4, 20, 5)});
    EXPECT_NEAR(plan_of(topology, 64 * kib).predicted->low_s, 7 * (69'676 * 8 / 5e6 + 50e-6), 1e-9);
}

// 64 messages of 8 + 8 ranks over the trunk take as long as 7 steps of 50 us and
// more only where links are slow, or messages large.
TEST(RingPlanOf, ManyShortStepsAreNotWorthIt) {
    const auto fast = [](std::uint64_t factor) {
        return *Topology::make({make_cluster(0, 4, 20 * factor, 25 * factor),
                                make_cluster(1, 4, 20 * factor, 25 * factor)});
    };
    const auto is_named = [&](std::uint64_t factor, std::uint64_t bytes) {
        return plan_of(fast(factor), bytes, RingOperation::allgather, 2).is_named;
    };
    EXPECT_TRUE(is_named(1, 2 * kib));
    EXPECT_TRUE(is_named(50, 4 * kib)) << "1 Gbit/s";
    EXPECT_FALSE(is_named(500, 4 * kib)) << "10 Gbit/s";
    EXPECT_TRUE(is_named(500, 64 * kib));
    const auto plan = plan_of(fast(500), 4 * kib, RingOperation::allgather, 2);
    EXPECT_NE(plan.reason.find("a ring would take 399 us"), std::string::npos) << plan.reason;
}

// Receivers' edges can be overfilled in an all-to-all, but not by what the
// libraries do of these operations.
TEST(RingPlanOf, TrunksThatCarryAllNeedNone) {
    const Topology wide = *Topology::make({make_cluster(0, 4, 20, 80), make_cluster(1, 4, 20, 80)});
    EXPECT_FALSE(plan_of(wide, 64 * kib).is_named) << plan_of(wide, 64 * kib).reason;
    const Topology one_less =
        *Topology::make({make_cluster(0, 4, 20, 79), make_cluster(1, 4, 20, 80)});
    EXPECT_TRUE(plan_of(one_less, 64 * kib).is_named);
    const Topology alone = *Topology::make({make_cluster(0, 8, 20, 25)});
    EXPECT_FALSE(plan_of(alone, 64 * kib).is_named);
}

TEST(RingPlanOf, WhatBuffersHoldNeedsNone) {
    std::vector<Cluster> clusters{make_cluster(0, 4, 20, 25), make_cluster(1, 4, 20, 25)};
    for (Cluster& cluster : clusters) {
        cluster.host_buffer_bytes = 1 << 20;
        cluster.trunk_buffer_bytes = 1 << 20;
    }
    const Topology topology = *Topology::make(std::move(clusters));
    EXPECT_FALSE(plan_of(topology, 4 * kib).is_named);
    EXPECT_TRUE(plan_of(topology, 4096 * kib).is_named);
}

// The ring's traffic is planned as one stream: 20 Mbit/s through 25 need no rate, through 5 only
// the host in front of the trunk needs one.
TEST(RingPlanOf, ItsTrafficLimitsWhoSendsThroughASlowTrunk) {
    std::vector<HostFlow> flows;
    for (std::uint32_t host = 0; host < 8; ++host) flows.push_back({host, (host + 1) % 8, 1});
    const std::vector<std::size_t> hosts{0, 1, 2, 3, 4, 5, 6, 7};
    EXPECT_FALSE(plan_traffic(demo_topology(), PlanPolicy{}, hosts, flows)->paced);
    const Topology slow = *Topology::make({make_cluster(0, 4, 20, 5), make_cluster(1, 4, 20, 5)});
    const auto plan = plan_traffic(slow, PlanPolicy{}, hosts, flows);
    ASSERT_TRUE(plan->paced);
    for (std::size_t host = 0; host < 8; ++host) {
        for (std::size_t cluster = 0; cluster < 2; ++cluster) {
            const bool crosses = (host == 3 && cluster == 1) || (host == 7 && cluster == 0);
            EXPECT_EQ(plan->rates[host][cluster].has_value(), crosses) << host << cluster;
        }
    }
    EXPECT_EQ(plan->rates[3][1]->value, 5'000'000 * 99 / 100 / 8U);
}

}  // namespace
}  // namespace headway::test

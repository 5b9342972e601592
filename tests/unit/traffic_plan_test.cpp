// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

#include "plan/traffic_plan.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

std::vector<std::size_t> all_hosts(const Topology& topology) {
    std::vector<std::size_t> hosts(topology.host_count());
    std::iota(hosts.begin(), hosts.end(), 0);
    return hosts;
}

TrafficPlan plan_of(const Topology& topology, const std::vector<HostFlow>& flows) {
    auto plan = plan_traffic(topology, PlanPolicy{}, all_hosts(topology), flows);
    EXPECT_TRUE(plan) << plan.error().message;
    return plan ? *plan : TrafficPlan{};
}

/// Hosts in a ring a0 .. a3, b0 .. b3, each with both neighbours, and a_i with b_i.
std::vector<HostFlow> halo(double bytes) {
    std::vector<HostFlow> flows;
    for (std::uint32_t host = 0; host < 8; ++host) {
        const std::uint32_t cluster = host / 4 * 4;
        flows.push_back({host, cluster + (host + 1) % 4, bytes});
        flows.push_back({host, cluster + (host + 3) % 4, bytes});
        flows.push_back({host, (host + 4) % 8, bytes});
    }
    return flows;
}

// 25 x 0.99 / 4 over the trunk, and as much to each of the two in the own cluster.
TEST(TrafficPlan, DividesTheTrunkAmongThoseThatUseIt) {
    const TrafficPlan plan = plan_of(demo_topology(), halo(40'000));
    ASSERT_TRUE(plan.paced) << plan.reason;
    for (std::size_t host = 0; host < 8; ++host) {
        EXPECT_EQ(plan.rates[host][host < 4 ? 1 : 0]->value, 773'437U);
        EXPECT_EQ(plan.rates[host][host < 4 ? 0 : 1]->value, 1'546'875U);
    }
    EXPECT_NE(plan.reason.find("trunk of a"), std::string::npos) << plan.reason;
}

// All flows of one call count, and what the receivers acknowledge: a0 sends to the others of its
// cluster, and these send back little.
TEST(TrafficPlan, OfOneCallAcknowledgementsCount) {
    const Topology topology = demo_topology();
    const std::vector<HostFlow> flows{{0, 1, 1000}, {0, 2, 1000}, {0, 3, 1000}, {1, 0, 1}, {2, 0, 130}};
    const auto plan = [&](FlowsOf what) {
        return plan_traffic(topology, PlanPolicy{}, all_hosts(topology), flows, what).value();
    };
    const TrafficPlan call = plan(FlowsOf::one_call);
    const double all_of_a0 = 3000 + 131 * 84.0 / 1538;
    const double bytes_per_s = 20e6 * 0.99 / 8;
    EXPECT_NEAR(call.end_s, all_of_a0 * 1538 / 1448 / bytes_per_s, 0.001 * call.end_s);
    ASSERT_TRUE(call.paced);
    EXPECT_FALSE(call.rates[0][0]) << "its own link is all that limits it";
    EXPECT_NEAR(double(call.rates[1][0]->value), bytes_per_s * 125 / all_of_a0, 0.001 * bytes_per_s)
        << "an eighth at least";
    EXPECT_NEAR(double(call.rates[2][0]->value), bytes_per_s * (130 + 1000 * 84.0 / 1538) / all_of_a0,
                0.001 * bytes_per_s);
    EXPECT_FALSE(plan(FlowsOf::program).paced) << "one of those who send back is light";
}

TEST(TrafficPlan, AFactorDividesEveryLinkFurther) {
    PlanPolicy policy;
    policy.divisor_factor_thousandths = 2 * divisor_one;
    const Topology topology = demo_topology();
    const auto plan = plan_traffic(topology, policy, all_hosts(topology), halo(40'000));
    ASSERT_TRUE(plan && plan->paced);
    EXPECT_EQ(plan->rates[0][1]->value, 773'437U / 2);
}

TEST(TrafficPlan, DependsOnProportionsOnly) {
    const TrafficPlan small = plan_of(demo_topology(), halo(1));
    EXPECT_EQ(small.rates, plan_of(demo_topology(), halo(1e12)).rates);
}

// Only one host sends through the trunk, which carries more than its edge.
TEST(TrafficPlan, LeavesAloneWhatCannotOverflow) {
    EXPECT_FALSE(plan_of(demo_topology(), {{0, 4, 1000}, {4, 0, 1000}}).paced);
    EXPECT_FALSE(plan_of(demo_topology(), {}).paced);
    EXPECT_FALSE(plan_of(demo_topology(), {{3, 3, 1000}}).paced);
}

// a0 and a1 meet at a2's edge; b0 to b1 is nobody's business.
TEST(TrafficPlan, LimitsOnlyClassesThatMeetOthers) {
    const TrafficPlan plan = plan_of(demo_topology(), {{0, 2, 9}, {1, 2, 9}, {4, 5, 9}});
    ASSERT_TRUE(plan.paced);
    EXPECT_EQ(plan.rates[0][0]->value, 1'237'500U);
    EXPECT_EQ(plan.rates[1][0]->value, 1'237'500U);
    EXPECT_FALSE(plan.rates[4][1]);
    EXPECT_FALSE(plan.rates[0][1]);
}

// A table that a0 sends to everybody once does not halve the trunk, and is not
// starved, though it is a ten thousandth of the rest.
TEST(TrafficPlan, DividesNothingForLightFlows) {
    auto flows = halo(1e9);
    for (std::uint32_t to = 1; to < 8; ++to) flows.push_back({2, to, 1e5});
    const TrafficPlan plan = plan_of(demo_topology(), flows);
    const TrafficPlan without = plan_of(demo_topology(), halo(1e9));
    ASSERT_TRUE(plan.paced);
    for (std::size_t host = 0; host < 8; ++host) {
        for (std::size_t cluster = 0; cluster < 2; ++cluster)
            EXPECT_NEAR(static_cast<double>(plan.rates[host][cluster]->value),
                        static_cast<double>(without.rates[host][cluster]->value), 1000);
    }
}

TEST(TrafficPlan, GivesAClassOfLightFlowsTheLeastRate) {
    const TrafficPlan plan =
        plan_of(demo_topology(), {{0, 2, 1e9}, {1, 2, 1e9}, {0, 4, 1e5}});
    EXPECT_EQ(plan.rates[0][1], plan.rates[1][0]);
    EXPECT_FALSE(plan.rates[1][1]);
}

// Flows of 100 : 1: the small one would get a hundredth, and gets an eighth as much.
TEST(TrafficPlan, CountsASmallFlowAsAnEighth) {
    std::vector<HostFlow> flows{{0, 2, 100}, {1, 2, 100}};
    for (std::uint32_t to = 0; to < 3; ++to) flows.push_back({3, to, 2});
    const TrafficPlan plan = plan_of(demo_topology(), flows);
    const double large = static_cast<double>(plan.rates[0][0]->value);
    EXPECT_NEAR(static_cast<double>(plan.rates[3][0]->value), 3 * large / 8, 3);
}

TEST(TrafficPlan, RefusesSharesThatNoClassCanHave) {
    Cluster cluster = make_cluster(0, 3, 1, 1);
    cluster.host_rate = {8};
    const Topology slow = *Topology::make({cluster});
    const std::vector<HostFlow> flows{{0, 2, 1}, {1, 2, 1}};
    EXPECT_FALSE(plan_traffic(slow, PlanPolicy{}, all_hosts(slow), flows));
}

/// Sums up what the classes of heavy flows put on each link, if each divides its rate by its flows'
/// bytes.
class Load {
public:
    Load(const Topology& topology, const std::vector<HostFlow>& flows, const TrafficPlan& plan)
        : topology_(topology) {
        std::map<std::pair<std::uint32_t, std::size_t>, double> of_class;
        for (const HostFlow& flow : flows) of_class[{flow.from, cluster(flow.to)}] += flow.bytes;
        for (const HostFlow& flow : flows) {
            const auto rate = plan.rates[flow.from][cluster(flow.to)];
            if (!rate) continue;
            const double part = flow.bytes / of_class[{flow.from, cluster(flow.to)}];
            const double bps = 8.0 * static_cast<double>(rate->value) * part;
            into_[flow.to] += bps;
            if (cluster(flow.from) == cluster(flow.to)) continue;
            up_[cluster(flow.from)] += bps;
            down_[cluster(flow.to)] += bps;
        }
    }

    /// Returns the most that any link carries.
    [[nodiscard]] double most() const {
        double most = 0;
        for (const auto& [host, bps] : into_)
            most = std::max(most, bps / rate(topology_.clusters()[cluster(host)].host_rate));
        for (const auto& [c, bps] : up_)
            most = std::max(most, bps / rate(topology_.clusters()[c].trunk_up_rate));
        for (const auto& [c, bps] : down_)
            most = std::max(most, bps / rate(topology_.clusters()[c].trunk_down_rate));
        return most;
    }

private:
    static double rate(BitsPerSecond bits) { return static_cast<double>(bits.value); }
    [[nodiscard]] std::size_t cluster(std::size_t host) const { return topology_.cluster_of(host); }

    const Topology& topology_;
    std::map<std::uint32_t, double> into_;
    std::map<std::size_t, double> up_, down_;
};

// Up to 40 flows of similar size: none is light, and none is raised to the eighth.
TEST(TrafficPlan, NeverAsksALinkForMoreThanItsPart) {
    std::mt19937 random(20261122);
    const Topology topology =
        *Topology::make({make_cluster(0, 5, 100, 150), make_cluster(1, 3, 50, 80),
                         make_cluster(2, 6, 100, 1000)});
    std::uniform_int_distribution<std::uint32_t> host(0, 13);
    std::uniform_real_distribution<double> bytes(5000, 8000);
    int paced = 0;
    for (int round = 0; round < 500; ++round) {
        std::map<std::pair<std::uint32_t, std::uint32_t>, HostFlow> flows;
        for (int i = 0; i < 1 + round % 40; ++i) {
            const HostFlow flow{host(random), host(random), bytes(random)};
            if (flow.from != flow.to) flows.insert_or_assign({flow.from, flow.to}, flow);
        }
        std::vector<HostFlow> list;
        for (const auto& [pair, flow] : flows) list.push_back(flow);
        const TrafficPlan plan = plan_of(topology, list);
        if (!plan.paced) continue;
        ++paced;
        EXPECT_LE(Load(topology, list, plan).most(), 0.99 + 1e-6) << "round " << round;
    }
    EXPECT_GT(paced, 300);
}

}  // namespace
}  // namespace headway::test

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "model/prediction.hpp"
#include "model/step_rates.hpp"
#include "model/wire.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

constexpr auto ring = AllToAllAlgorithm::pairwise_ring;
constexpr auto exclusive_or = AllToAllAlgorithm::pairwise_xor;

RankPlaces one_rank_each(const Topology& topology) {
    RankPlaces places;
    for (std::uint32_t host = 0; host < topology.host_count(); ++host) {
        places.cluster_of_host.push_back(topology.cluster_of(host));
        places.host_of_rank.push_back(host);
    }
    return places;
}

std::optional<std::size_t> partner(AllToAllAlgorithm algorithm, std::size_t rank,
                                   std::size_t step, std::size_t ranks) {
    const std::size_t to = algorithm == ring ? (rank + step) % ranks : rank ^ step;
    return to < ranks ? std::optional(to) : std::nullopt;
}

const StepBlock& block_of(const StepPlan& plan, std::uint32_t step) {
    std::size_t at = 0;
    while (at + 1 < plan.blocks.size() && plan.blocks[at + 1].first_step <= step) ++at;
    return plan.blocks[at];
}

// The trunk of 25 x 0.99 Mbit/s among those that cross it in the step, as far as
// the receiver's edge of 20 x 0.99 lets them.
TEST(StepRates, OfARingFollowThoseWhoCross) {
    const Topology topology = demo_topology();
    const auto plan = plan_steps(topology, PlanPolicy{}, one_rank_each(topology), ring, 65536);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->blocks.size(), 7U);
    const std::vector<std::uint64_t> trunk{2'475'000, 1'546'875, 1'031'250, 773'437,
                                           1'031'250, 1'546'875, 2'475'000};
    for (std::uint32_t step = 1; step <= 7; ++step) {
        const StepBlock& block = plan->blocks[step - 1];
        EXPECT_EQ(block.first_step, step);
        for (std::size_t host = 0; host < 8; ++host) {
            const bool to_other = (host < 4) != ((host + step) % 8 < 4);
            const std::size_t own = host < 4 ? 0 : 1;
            const auto& sends = block.rates[host][to_other ? 1 - own : own];
            ASSERT_TRUE(sends);
            EXPECT_EQ(sends->value, to_other ? trunk[step - 1] : 2'475'000U);
            EXPECT_FALSE(block.rates[host][to_other ? own : 1 - own]);
        }
    }
}

// Whoever is last in a step holds up all: 1 + 2 + 3 + 4 + 3 + 2 + 1 messages'
// time over the trunk where it limits, an edge's in steps 1 and 7.
TEST(StepRates, PredictionIsTheSumOfTheSteps) {
    const Topology topology = demo_topology();
    const auto plan = plan_steps(topology, PlanPolicy{}, one_rank_each(topology), ring, 65536);
    ASSERT_TRUE(plan && plan->predicted);
    const double bits = 8.0 * tcp_wire_bytes(65536);
    EXPECT_NEAR(plan->predicted->low_s, 14 * bits / 24.75e6 + 2 * bits / 19.8e6, 1e-6);
    EXPECT_EQ(plan->predicted->high_s, plan->predicted->low_s);
    const auto by_xor =
        plan_steps(topology, PlanPolicy{}, one_rank_each(topology), exclusive_or, 65536);
    EXPECT_NEAR(by_xor->predicted->low_s, 16 * bits / 24.75e6 + 3 * bits / 19.8e6, 1e-6);
    const auto any = plan_steps(topology, PlanPolicy{}, one_rank_each(topology), ring, {});
    ASSERT_TRUE(any);
    EXPECT_FALSE(any->predicted);
}

// The same by the fluid model, which knows nothing of steps.
TEST(StepRates, NothingOverflowsInAnyStep) {
    for (const Topology& topology : {demo_topology(), two_level_topology(30)}) {
        for (const auto algorithm : {ring, exclusive_or}) {
            const RankPlaces places = one_rank_each(topology);
            const auto plan = *plan_steps(topology, PlanPolicy{}, places, algorithm, 65536);
            const std::size_t ranks = places.host_of_rank.size();
            std::vector<std::size_t> hosts(places.host_of_rank.begin(), places.host_of_rank.end());
            double sum_s = 0;
            for (std::uint32_t step = 1; step < ranks; ++step) {
                std::vector<std::vector<double>> bytes(ranks, std::vector<double>(ranks, 0));
                for (std::size_t rank = 0; rank < ranks; ++rank) {
                    bytes[rank][*partner(algorithm, rank, step, ranks)] = 65536;
                }
                const Exchange exchange = make_exchange(topology, hosts, std::move(bytes));
                ExchangeNetwork network = make_network(topology, exchange, 0.99);
                cap_flows(network, exchange, block_of(plan, step).rates);
                const Prediction prediction = predict(topology, exchange, network);
                EXPECT_EQ(prediction.timeouts, 0U) << prediction.reason;
                sum_s += prediction.low_s;
            }
            EXPECT_NEAR(plan.predicted->low_s, sum_s, 1e-3 * sum_s);
        }
    }
}

/// What may come to each link in a step if every class gives all its rate to any
/// one of its destinations: (trunk, upwards) or (receiver, host), in bytes/s.
using Load = std::map<std::pair<int, std::size_t>, std::uint64_t>;

Load load_of(const Topology& topology, const RankPlaces& places, AllToAllAlgorithm algorithm,
             const StepBlock& block, std::uint32_t step) {
    std::map<std::pair<std::size_t, std::size_t>, std::set<std::pair<int, std::size_t>>> links;
    const std::size_t ranks = places.host_of_rank.size();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto to = partner(algorithm, rank, step, ranks);
        if (!to || places.host_of_rank[rank] == places.host_of_rank[*to]) continue;
        const std::size_t from = places.host_of_rank[rank];
        const std::size_t cluster = places.cluster_of_host[places.host_of_rank[*to]];
        auto& crossed = links[{from, cluster}];
        crossed.insert({2, places.host_of_rank[*to]});
        const TrunkPath path = topology.trunk_path(places.cluster_of_host[from], cluster);
        for (const std::size_t trunk : path.up) crossed.insert({0, trunk});
        for (const std::size_t trunk : path.down) crossed.insert({1, trunk});
    }
    Load load;
    for (const auto& [key, crossed] : links) {
        const auto& rate = block.rates[key.first][key.second];
        EXPECT_TRUE(rate) << "a class without a rate sends";
        for (const auto& link : crossed) load[link] += rate ? rate->value : 0;
    }
    return load;
}

Topology random_tree(std::mt19937& random) {
    const auto between = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    std::vector<Cluster> clusters;
    for (int c = between(2, 5); c > 0; --c) {
        clusters.push_back(make_cluster(static_cast<int>(clusters.size()), between(1, 6),
                                        static_cast<std::uint64_t>(between(5, 100)),
                                        static_cast<std::uint64_t>(between(5, 100))));
        if (between(0, 2) == 0) clusters.back().parent = "upper";
    }
    const BitsPerSecond rate{static_cast<std::uint64_t>(between(5, 100)) * mbit};
    return *Topology::make(std::move(clusters), {{"upper", "", rate, rate, {}, {}}});
}

// Any tree, several ranks on some hosts in any order, any number of ranks.
TEST(StepRates, NoLinkIsAskedForMoreThanItHas) {
    std::mt19937 random(11);
    std::size_t merged = 0, full = 0;
    for (int round = 0; round < 60; ++round) {
        const Topology topology = random_tree(random);
        RankPlaces places = one_rank_each(topology);
        for (int more = static_cast<int>(random() % 20); more > 0; --more) {
            places.host_of_rank.push_back(static_cast<std::uint32_t>(random() % topology.host_count()));
        }
        std::shuffle(places.host_of_rank.begin(), places.host_of_rank.end(), random);
        const auto ranks = static_cast<std::uint32_t>(places.host_of_rank.size());
        for (const auto algorithm : {ring, exclusive_or}) {
            const auto plan = plan_steps(topology, PlanPolicy{}, places, algorithm, 65536);
            ASSERT_TRUE(plan) << plan.error().message;
            ASSERT_LE(plan->blocks.size(), step_blocks_max);
            merged += ranks > step_blocks_max + 1;
            for (std::uint32_t step = 1; step < ranks; ++step) {
                const Load load =
                    load_of(topology, places, algorithm, block_of(*plan, step), step);
                for (const auto& [link, bytes_per_s] : load) {
                    const auto [kind, owner] = link;
                    const BitsPerSecond rate =
                        kind == 2 ? topology.clusters()[places.cluster_of_host[owner]].host_rate
                        : kind == 0 ? topology.trunk(owner).trunk_up_rate
                                    : topology.trunk(owner).trunk_down_rate;
                    EXPECT_LE(bytes_per_s * 800, rate.value * 99) << "step " << step;
                    full += bytes_per_s * 800 > rate.value * 98;
                }
            }
        }
    }
    EXPECT_GT(merged, 5U);
    EXPECT_GT(full, 1000U) << "the links are not used";
}

TEST(StepRates, OfTwoRanksOnEachHost) {
    const Topology topology = demo_topology();
    RankPlaces places = one_rank_each(topology);
    places.host_of_rank.clear();
    for (std::uint32_t rank = 0; rank < 16; ++rank) places.host_of_rank.push_back(rank / 2);
    const auto plan = *plan_steps(topology, PlanPolicy{}, places, ring, 65536);
    ASSERT_EQ(plan.blocks.size(), 15U);
    // step 2: both ranks of host 3, and of host 7, go across
    EXPECT_EQ(plan.blocks[1].rates[3][1]->value, 2'475'000U);
    EXPECT_FALSE(plan.blocks[1].rates[2][1]);
    // step 8: everybody
    EXPECT_EQ(plan.blocks[7].rates[0][1]->value, 773'437U);
}

TEST(StepRates, AFixedDivisorIsKept) {
    const Topology topology = demo_topology();
    PlanPolicy policy;
    policy.trunk_divisor_thousandths = 8 * divisor_one;
    const auto plan = *plan_steps(topology, policy, one_rank_each(topology), ring, 65536);
    EXPECT_EQ(plan.blocks[3].rates[0][1]->value, 24'750'000U / 8 / 8) << "B / 8 for each of four";
    EXPECT_EQ(plan.blocks[1].rates[2][1]->value, 24'750'000U / 4 / 8) << "two at twice that";
}

TEST(StepRates, TooManyRanksAreRefused) {
    const Topology topology = demo_topology();
    RankPlaces places = one_rank_each(topology);
    places.host_of_rank.assign(step_ranks_max + 1, 0);
    EXPECT_FALSE(plan_steps(topology, PlanPolicy{}, places, ring, 1));
    places.host_of_rank.assign(1, 0);
    EXPECT_FALSE(plan_steps(topology, PlanPolicy{}, places, ring, 1));
}

}  // namespace
}  // namespace headway::test

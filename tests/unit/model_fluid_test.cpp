// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "plan/fluid.hpp"

namespace headway::test {
namespace {

constexpr double mbit = 1e6;

/// `senders` hosts with an edge each, over one link of `capacity`.
FluidNetwork many_over_one(std::uint32_t senders, double edge, double capacity, double buffer,
                           double bytes, double cap) {
    FluidNetwork network;
    network.links = {{edge, 0, FluidLink::no_reverse, true},
                     {capacity, buffer, FluidLink::no_reverse, false}};
    const double flows = senders;
    network.groups = {{bytes, cap, 0, {{0, 1, 1}, {1, flows, flows}}}};
    return network;
}

// The worked example of fluid.hpp.
//   unpaced: 25 / 4 = 6.25 Mbit/s each, 8e6 bit / 6.25e6 = 1.28 s
//   offered 20 each for 8e6 / 20e6 = 0.4 s: (80 - 25) Mbit/s * 0.4 s / 8 = 2.75 MB
TEST(Fluid, WorkedExample) {
    FluidNetwork network = many_over_one(4, 20 * mbit, 25 * mbit, 65536, 1e6, fluid_no_cap);
    FluidResult result = fluid_run(network);
    EXPECT_DOUBLE_EQ(result.time_s, 1.28);
    EXPECT_DOUBLE_EQ(result.links[1].peak_bytes, 2.75e6);
    EXPECT_EQ(result.timeouts, 1U);
    EXPECT_DOUBLE_EQ(result.worst_s(0.2), 1.48);

    network.groups[0].cap_bps = 6.25 * mbit;
    result = fluid_run(network);
    EXPECT_DOUBLE_EQ(result.time_s, 1.28);
    EXPECT_EQ(result.links[1].peak_bytes, 0);
    EXPECT_EQ(result.timeouts, 0U);
}

// A buffer of exactly the overload holds it: 2.75e6; a byte less does not.
TEST(Fluid, OverflowNeedsMoreThanTheBuffer) {
    EXPECT_EQ(fluid_run(many_over_one(4, 20 * mbit, 25 * mbit, 2.75e6, 1e6, fluid_no_cap)).timeouts,
              0U);
    EXPECT_EQ(
        fluid_run(many_over_one(4, 20 * mbit, 25 * mbit, 2.75e6 - 1, 1e6, fluid_no_cap)).timeouts,
        1U);
}

// One host that sends 3 messages over its own edge: a surplus there is its own.
TEST(Fluid, SendersOwnEdgeLosesNothing) {
    FluidNetwork network;
    network.links = {{10 * mbit, 0, FluidLink::no_reverse, true}};
    network.groups = {{1e6, fluid_no_cap, 0, {{0, 3, 1}}}};
    const FluidResult result = fluid_run(network);
    EXPECT_DOUBLE_EQ(result.time_s, 2.4);
    EXPECT_EQ(result.timeouts, 0U);
}

// Two groups over 12 Mbit/s, one capped at 2: the other gets 10.  The slow one
// has 8e6 / 2e6 = 4 s; the fast one is done after 0.8 s.
TEST(Fluid, CapsLeaveTheRestToOthers) {
    FluidNetwork network;
    network.links = {{12 * mbit, 0, FluidLink::no_reverse, false}};
    network.groups = {{1e6, 2 * mbit, 0, {{0, 1, 1}}}, {1e6, fluid_no_cap, 1, {{0, 1, 1}}}};
    const auto rates = fluid_rates_bps(network);
    EXPECT_DOUBLE_EQ(rates[0], 2 * mbit);
    EXPECT_DOUBLE_EQ(rates[1], 10 * mbit);
    EXPECT_DOUBLE_EQ(fluid_run(network).time_s, 4);
}

// Zhu's asymmetric case: 12 in and 1 out of a NIC of 940 Mbit/s, all get 940/12.
TEST(Fluid, ReverseDirectionCounts) {
    FluidNetwork network;
    network.links = {{940 * mbit, 0, 1, false}, {940 * mbit, 0, 0, false}};
    network.groups = {{1e6, fluid_no_cap, 0, {{0, 12, 12}}}, {1e6, fluid_no_cap, 1, {{1, 1, 1}}}};
    const auto rates = fluid_rates_bps(network);
    EXPECT_DOUBLE_EQ(rates[0], 940 * mbit / 12);
    EXPECT_DOUBLE_EQ(rates[1], 940 * mbit / 12);
}

// Behind a full link no more arrives than it lets through: 4 x 20 into 25, then
// into 20: in front of the second (25 - 20) Mbit/s pile up until 4e6 * 8 bits
// have come through at 25: 1.28 s, 0.8 MB.
TEST(Fluid, LinksBeforeThrottle) {
    FluidNetwork network = many_over_one(4, 20 * mbit, 25 * mbit, 0, 1e6, fluid_no_cap);
    network.links.push_back({20 * mbit, 0, FluidLink::no_reverse, false});
    network.groups[0].path.push_back({2, 4, 4});
    const FluidResult result = fluid_run(network);
    EXPECT_NEAR(result.links[2].peak_bytes, 0.8e6, 1e-3);
    EXPECT_EQ(result.timeouts, 2U) << "the path has two links that overflow";
    EXPECT_GT(result.links[1].peak_bytes, result.links[2].peak_bytes);
    EXPECT_DOUBLE_EQ(result.piled_up_bytes, result.links[1].peak_bytes) << "of the fuller one";
    EXPECT_DOUBLE_EQ(result.time_s, 1.6);
}

// A host with flows to 4 receivers of 20 Mbit/s, and three others like it: steadily
// each receiver gets 4 x 5; but all four may turn to one of them at a time.  With
// every flow capped at 5 they cannot.
TEST(Fluid, SendersMayTurnToOneLinkAtATime) {
    FluidNetwork network;
    network.links = {{20 * mbit, 0, FluidLink::no_reverse, true},
                     {20 * mbit, 0, FluidLink::no_reverse, false}};
    network.groups = {{1e6, fluid_no_cap, 0, {{0, 4, 1}, {1, 4, 4}}}};
    FluidResult result = fluid_run(network);
    EXPECT_DOUBLE_EQ(result.time_s, 1.6);
    EXPECT_DOUBLE_EQ(result.links[1].peak_bytes, (80 - 20) * mbit * (8e6 / 20e6) / 8);
    EXPECT_EQ(result.timeouts, 1U);
    network.groups[0].cap_bps = 5 * mbit;
    result = fluid_run(network);
    EXPECT_EQ(result.timeouts, 0U);
    EXPECT_DOUBLE_EQ(result.time_s, 1.6);
}

TEST(Fluid, NothingToSendTakesNoTime) {
    EXPECT_EQ(fluid_run({}).time_s, 0);
    EXPECT_EQ(fluid_run(many_over_one(4, 1, 1, 0, 0, fluid_no_cap)).time_s, 0);
}

FluidNetwork random_network(std::mt19937& random) {
    std::uniform_real_distribution<double> capacity(1 * mbit, 100 * mbit);
    std::uniform_int_distribution<std::uint32_t> flows(1, 9);
    FluidNetwork network;
    const std::uint32_t links = 2 * flows(random);
    for (std::uint32_t l = 0; l < links; ++l) {
        network.links.push_back({capacity(random), 0, l ^ 1U, false});
    }
    for (std::uint32_t g = flows(random); g > 0; --g) {
        FluidGroup group{capacity(random), flows(random) > 6 ? capacity(random) : fluid_no_cap, g, {}};
        for (std::uint32_t l = 0; l < links; ++l) {
            if (flows(random) > 5) group.path.push_back({l, static_cast<double>(flows(random)), 1});
        }
        if (!group.path.empty()) network.groups.push_back(std::move(group));
    }
    return network;
}

// Over random networks: no link is over-subscribed and no cap exceeded; each
// flow is held back by something; scaling every bandwidth scales every rate;
// no run is shorter than any link needs.
TEST(Fluid, RatesAreFeasibleAndMaximal) {
    std::mt19937 random(7);
    for (int round = 0; round < 500; ++round) {
        FluidNetwork network = random_network(random);
        const auto rates = fluid_rates_bps(network);
        std::vector<double> load(network.links.size(), 0);
        std::vector<double> bits(network.links.size(), 0);
        for (std::size_t g = 0; g < rates.size(); ++g) {
            EXPECT_GT(rates[g], 0);
            EXPECT_LE(rates[g], network.groups[g].cap_bps);
            for (const FluidUse& use : network.groups[g].path) {
                load[use.link] += rates[g] * use.flows;
                bits[use.link] += 8 * network.groups[g].bytes * use.flows;
            }
        }
        const double time_s = fluid_run(network).time_s;
        for (std::size_t l = 0; l < load.size(); ++l) {
            EXPECT_LE(load[l], network.links[l].capacity_bps * (1 + 1e-9));
            EXPECT_GE(time_s * (1 + 1e-9), bits[l] / network.links[l].capacity_bps);
        }
        for (std::size_t g = 0; g < rates.size(); ++g) {
            bool held = rates[g] >= network.groups[g].cap_bps * (1 - 1e-9);
            for (const FluidUse& use : network.groups[g].path) {
                for (const std::uint32_t l : {use.link, network.links[use.link].reverse}) {
                    held = held || load[l] >= network.links[l].capacity_bps * (1 - 1e-9);
                }
            }
            EXPECT_TRUE(held) << "group " << g;
        }
        for (FluidLink& link : network.links) link.capacity_bps *= 3;
        for (FluidGroup& group : network.groups) group.cap_bps *= 3;
        const auto scaled = fluid_rates_bps(network);
        for (std::size_t g = 0; g < rates.size(); ++g) {
            EXPECT_NEAR(scaled[g], 3 * rates[g], 3 * rates[g] * 1e-9);
        }
        if (testing::Test::HasFailure()) FAIL() << "round " << round;
    }
}

/// Beside a queue of frames that come at even distances from hosts that begin at random, in slots of a
/// frame: how many find `buffer` frames before them, in the mean of many beginnings.
double simulated_loss(std::uint32_t senders, std::uint32_t period, double buffer, std::uint32_t beginnings) {
    std::minstd_rand random(7);
    std::uniform_real_distribution<double> moment(0, period);
    double lost = 0;
    for (std::uint32_t i = 0; i < beginnings; ++i) {
        std::vector<double> arrivals(senders);
        for (double& arrival : arrivals) arrival = moment(random);
        std::ranges::sort(arrivals);
        double waits = 0, before = arrivals.back() - period;
        for (int round = 0; round < 2; ++round) {  // the second begins as the first has ended
            for (const double arrival : arrivals) {
                const double now = arrival + round * period;
                waits = std::max(0.0, waits - (now - before));
                before = now;
                if (round == 1 && waits > buffer) lost += 1;
                waits += 1;
            }
        }
    }
    return lost / senders / beginnings;
}

TEST(FluidFrames, MeetAsOftenAsInAQueueOfFrames) {
    for (const auto& [senders, period, buffer] : {std::tuple(64U, 65U, 8.0), {64U, 80U, 5.0}, {256U, 260U, 16.0}, {16U, 17U, 4.0}}) {
        const double simulated = simulated_loss(senders, period, buffer, 20'000);
        const double predicted = frame_loss_probability(senders, 1.0 * senders / period, buffer);
        EXPECT_GT(predicted, simulated / 3) << senders << " hosts, " << simulated;
        EXPECT_LT(predicted, simulated * 3) << senders << " hosts, " << simulated;
    }
    EXPECT_DOUBLE_EQ(frame_loss_probability(4, 3, 2), 1) << "overloaded";
}

TEST(FluidFrames, AreLostOnlyWhereAllArePacedAndTheBufferIsKnown) {
    const auto lost = [](double cap_bps, double buffer_bytes) {
        FluidNetwork network;
        network.links = {{1e9, 0, FluidLink::no_reverse, true}, {1e9, buffer_bytes, FluidLink::no_reverse, false}};
        network.groups = {{1'538'000, cap_bps, 0, {{0, 1, 1}, {1, 10, 10}}}};
        return fluid_run(network).frame_loss;
    };
    EXPECT_NEAR(lost(0.99e8, 3 * 1538), std::exp(-6 * (0.3 + 0.01)), 1e-9);
    EXPECT_EQ(lost(0.99e8, 0), 0);
    EXPECT_EQ(lost(fluid_no_cap, 3 * 1538), 0);
}

}  // namespace
}  // namespace headway::test

// SPDX-License-Identifier: Apache-2.0
// PlogPT's tree, the rates of flows in it, and their gaps.
#include <algorithm>

#include <gtest/gtest.h>

#include "models/plogpt_gap.hpp"
#include "models/plogpt_rates.hpp"
#include "plogpt_systems.hpp"

namespace headway::test {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

PlogptTree tree_of(std::vector<double> b, std::vector<double> d, double eps_s = 0,
                   PlogptTree::Clamp clamp = PlogptTree::Clamp::no) {
    return *PlogptTree::make({std::move(b), std::move(d)}, eps_s, clamp);
}

// ------------------------------------------------------------------------- tree

TEST(PlogptTree, HeightIsTheBitLengthOfTheDifference) {
    EXPECT_EQ(PlogptTree::height_of(5, 5), 0U);
    EXPECT_EQ(PlogptTree::height_of(0, 1), 1U);
    EXPECT_EQ(PlogptTree::height_of(1, 2), 2U) << "neighbours, but in different halves";
    EXPECT_EQ(PlogptTree::height_of(0, 31), 5U);
}

// b(h+1) is at most 2 b(h), where b(h) is itself clamped: 3, 10, 24 -> 3, 6, 12.
TEST(PlogptTree, ClampsBandwidths) {
    const PlogptTree tree = tree_of({3, 10, 24}, {0, 0, 0}, 0, PlogptTree::Clamp::yes);
    EXPECT_EQ(tree.bandwidth(2), 6);
    EXPECT_EQ(tree.bandwidth(3), 12);
    EXPECT_EQ(tree_of({3, 10, 24}, {0, 0, 0}).bandwidth(3), 24);
}

// (4): b = 2, 4, 8, 12 and d = 1, 1, 3, 3.
//   1-2 nothing differs; 2-3 the delay; 3-4 the bandwidth (12 instead of 16)
TEST(PlogptTree, ExactSwitches) {
    const PlogptTree tree = tree_of({2, 4, 8, 12}, {1, 1, 3, 3});
    EXPECT_FALSE(tree.has_switches_exact(1, 2));
    EXPECT_TRUE(tree.has_switches_exact(2, 3));
    EXPECT_TRUE(tree.has_switches_exact(3, 4));
    EXPECT_TRUE(tree.has_switches_exact(4, 3)) << "either way";
    for (unsigned h = 1; h <= 4; ++h) EXPECT_FALSE(tree.has_switches(h, h));
}

// (5) with the natural logarithm: b = 1, 1 and d = 1, e:
//   ln^2(2 x 1/1) + ln^2(1/e) = 0.48045 + 1
TEST(PlogptTree, PracticalSwitches) {
    const PlogptTree tree = tree_of({1, 1}, {1, std::exp(1.0)}, 1.48);
    EXPECT_NEAR(tree.switch_distance(1, 2), std::log(2) * std::log(2) + 1, 1e-15);
    EXPECT_DOUBLE_EQ(tree.switch_distance(2, 1), tree.switch_distance(1, 2));
    EXPECT_TRUE(tree.has_switches(1, 2));
    EXPECT_FALSE(tree_of({1, 1}, {1, std::exp(1.0)}, 1.481).has_switches(1, 2));
}

// Where (5) has no value, (4) decides.
TEST(PlogptTree, DelayOfZero) {
    EXPECT_FALSE(tree_of({1, 2}, {0, 0}).has_switches(1, 2));
    EXPECT_TRUE(tree_of({1, 2}, {0, 1}, 100).has_switches(1, 2));
    EXPECT_TRUE(tree_of({1, 3}, {0, 0}, 100).has_switches(1, 2));
    EXPECT_EQ(tree_of({1, 2}, {0, 1}).switch_distance(1, 2), infinite);
    EXPECT_TRUE(tree_of({1, infinite}, {1, 1}, 100).has_switches(1, 2));
}

// Table II: the paper finds P_S(h,h+1) false for h = 2 and 3 only.  That holds
// for 1.97e-4 < eps_S < 2.96e-2, the largest of 2, 3 and the least of 1, 4.
TEST(PlogptTree, SwitchesOfTable2) {
    const PlogptTree tree = table_2_tree();
    EXPECT_NEAR(tree.switch_distance(1, 2), 0.343, 0.001);
    EXPECT_NEAR(tree.switch_distance(2, 3), 1.97e-4, 0.01e-4);
    EXPECT_LT(tree.switch_distance(3, 4), tree.switch_distance(2, 3));
    EXPECT_NEAR(tree.switch_distance(4, 5), 2.96e-2, 0.01e-2);
    for (const double eps_s : {1.98e-4, 0.01, 2.95e-2}) {
        std::vector<bool> switches;
        for (unsigned h = 1; h <= 4; ++h) {
            switches.push_back(table_2_tree(eps_s).has_switches(h, h + 1));
        }
        EXPECT_EQ(switches, (std::vector<bool>{true, false, false, true})) << eps_s;
    }
    EXPECT_TRUE(table_2_tree(1.96e-4).has_switches(2, 3));
    EXPECT_FALSE(table_2_tree(2.97e-2).has_switches(4, 5));
}

TEST(PlogptTree, RefusesImpossibleLinks) {
    const auto refuses = [](std::vector<double> b, std::vector<double> d, double eps_s) {
        return !PlogptTree::make({std::move(b), std::move(d)}, eps_s, PlogptTree::Clamp::no);
    };
    EXPECT_TRUE(refuses({}, {}, 0));
    EXPECT_TRUE(refuses({1, 2}, {1}, 0));
    EXPECT_TRUE(refuses({0}, {1}, 0));
    EXPECT_TRUE(refuses({NAN}, {1}, 0));
    EXPECT_TRUE(refuses({1}, {-1}, 0));
    EXPECT_TRUE(refuses({1}, {1}, NAN));
    EXPECT_TRUE(refuses(std::vector<double>(31, 1), std::vector<double>(31, 1), 0));
}

// ------------------------------------------------------------------------ rates

// (7) for III-E: b = 3, 4 and flows i -> i xor 2: min(3/1, 4/2) = 2; one alone: 3.
TEST(PlogptRates, SampleOfThePaper) {
    const PlogptTree tree = sample_system().tree;
    const std::vector<PlogptFlow> four{{0, 2}, {1, 3}, {2, 0}, {3, 1}};
    EXPECT_EQ(*plogpt_rates(tree, four), (std::vector<double>{2, 2, 2, 2}));
    const std::vector<PlogptFlow> one{{0, 3}};
    EXPECT_EQ(*plogpt_rates(tree, one), std::vector<double>{3});
}

// Full duplex: b = 6, 6.  Three flows into leaf 0 share its edge downwards, the
// flow out of it has the edge upwards for itself.
//   0->1: 6 up, 6 down: 6.  1->0, 2->0, 3->0: 6/3 = 2 at leaf 0
TEST(PlogptRates, DirectionsAreSeparate) {
    const PlogptTree tree = tree_of({6, 6}, {0, 0});
    const std::vector<PlogptFlow> flows{{0, 1}, {1, 0}, {2, 0}, {3, 0}};
    EXPECT_EQ(*plogpt_rates(tree, flows), (std::vector<double>{6, 2, 2, 2}));
}

TEST(PlogptRates, SelfMessagesAndForeignLeaves) {
    const PlogptTree tree = tree_of({6}, {0});
    EXPECT_EQ(*plogpt_rates(tree, std::vector<PlogptFlow>{{1, 1}}), std::vector<double>{infinite});
    EXPECT_EQ(plogpt_rates(tree, std::vector<PlogptFlow>{{0, 1}, {0, 2}}).error().message,
              "flow 1: 0 -> 2 in a tree of 2 leaves");
}

// ------------------------------------------------------------------------- gaps

// (6): b(1) g(m) = 24 bytes from t = 2; 2 bytes/s until 6: 8 bytes; then 4: 4 s.
TEST(PlogptGap, IntegratesTheThroughput) {
    EXPECT_DOUBLE_EQ(*plogpt_gap_s(24, 2, {{0, 2}, {6, 4}}), 8);
    EXPECT_DOUBLE_EQ(*plogpt_gap_s(8, 2, {{0, 2}, {6, 4}}), 4) << "just before the step";
    EXPECT_DOUBLE_EQ(*plogpt_gap_s(4, 7, {{0, 2}, {6, 4}}), 1);
}

TEST(PlogptGap, WaitsWhileNothingMoves) {
    EXPECT_DOUBLE_EQ(*plogpt_gap_s(4, 0, {{0, 2}, {1, 0}, {5, 2}}), 6);
    EXPECT_DOUBLE_EQ(*plogpt_gap_s(4, 0, {{3, 2}}), 5) << "no throughput before the first step";
    EXPECT_EQ(*plogpt_gap_s(4, 0, {{0, 2}, {1, 0}}), infinite);
    EXPECT_EQ(*plogpt_gap_s(4, 0, {}), infinite);
    EXPECT_EQ(*plogpt_gap_s(0, 3, {}), 0);
}

// Constant throughput b(1): g_c = g, whatever the start.
TEST(PlogptGap, IsTheGapWithoutContention) {
    for (const double start : {0.0, 0.5, 1e6}) {
        EXPECT_DOUBLE_EQ(*plogpt_gap_s(3 * 8.0, start, {{0, 3}}), 8);
    }
}

TEST(PlogptGap, RefusesImpossibleProfiles) {
    EXPECT_FALSE(plogpt_gap_s(1, 0, {{0, -1}}));
    EXPECT_FALSE(plogpt_gap_s(1, 0, {{1, 1}, {0, 1}}));
}

}  // namespace
}  // namespace headway::test

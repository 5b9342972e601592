// SPDX-License-Identifier: Apache-2.0
// PlogP, and PlogPT's parameters from measurements.
#include <cmath>

#include <gtest/gtest.h>

#include "models/plogp.hpp"
#include "models/plogpt_measure.hpp"

namespace headway::test {
namespace {

// g measured at 0, 1000 and 3000 bytes: 10, 20, 30 us.
//   first segment 10 us per 1000 bytes, second 5 us per 1000 bytes
TEST(Plogp, GapIsLinearBetweenMeasuredSizes) {
    const GapTable gap = *GapTable::make({{3000, 30e-6}, {0, 10e-6}, {1000, 20e-6}});
    EXPECT_DOUBLE_EQ(gap(0), 10e-6);
    EXPECT_DOUBLE_EQ(gap(500), 15e-6);
    EXPECT_DOUBLE_EQ(gap(1000), 20e-6);
    EXPECT_DOUBLE_EQ(gap(2000), 25e-6);
    EXPECT_DOUBLE_EQ(gap(3000), 30e-6);
    EXPECT_DOUBLE_EQ(gap(5000), 40e-6) << "beyond: the last slope";
}

TEST(Plogp, GapBelowTheFirstSizeIsTheFirst) {
    const GapTable gap = *GapTable::make({{1000, 20e-6}, {2000, 40e-6}});
    EXPECT_DOUBLE_EQ(gap(1), 20e-6);
    const GapTable one = *GapTable::make({{1000, 20e-6}});
    EXPECT_DOUBLE_EQ(one(1), 20e-6);
    EXPECT_DOUBLE_EQ(one(1e9), 20e-6);
}

TEST(Plogp, GapIsNeverNegative) {
    const GapTable gap = *GapTable::make({{0, 20e-6}, {1000, 10e-6}});
    EXPECT_DOUBLE_EQ(gap(1500), 5e-6);
    EXPECT_EQ(gap(5000), 0);
}

TEST(Plogp, RefusesImpossibleGaps) {
    EXPECT_FALSE(GapTable::make({}));
    EXPECT_FALSE(GapTable::make({{0, -1}}));
    EXPECT_FALSE(GapTable::make({{-1, 1}}));
    EXPECT_FALSE(GapTable::make({{0, INFINITY}}));
    EXPECT_EQ(GapTable::make({{5, 1}, {5, 2}}).error().message,
              "the gap of 5 bytes is given twice");
}

// (18) (19), the example of plogp.hpp: 8 processes, g = 20 us, L = 50 us.
//   A: 7 (20 + 50) = 490 us; B: 7 x 20 + 50 = 190 us
TEST(Plogp, AlltoallTimes) {
    EXPECT_DOUBLE_EQ(plogp_alltoall_a_s(8, 20e-6, 50e-6), 490e-6);
    EXPECT_DOUBLE_EQ(plogp_alltoall_b_s(8, 20e-6, 50e-6), 190e-6);
}

// (20): T_A > T_B; with two processes there is nothing to overlap.
TEST(Plogp, AIsSlowerThanB) {
    EXPECT_EQ(plogp_alltoall_a_s(2, 3, 5), plogp_alltoall_b_s(2, 3, 5));
    for (std::uint64_t processes = 3; processes < 100; ++processes) {
        EXPECT_GT(plogp_alltoall_a_s(processes, 3, 5), plogp_alltoall_b_s(processes, 3, 5));
    }
}

// (1): RTT(0) = 120 us = 2 (L + 10 us) gives L = 50 us;
//      g(1000) = 130 - 2 x 50 - 10 = 20 us.
TEST(PlogptMeasure, LatencyAndGaps) {
    const auto plogp = plogp_from_round_trips(10e-6, {{1000, 130e-6}, {0, 120e-6}});
    ASSERT_TRUE(plogp);
    EXPECT_DOUBLE_EQ(plogp->latency_s, 50e-6);
    EXPECT_EQ(plogp->gap(0), 10e-6);
    EXPECT_NEAR(plogp->gap(1000), 20e-6, 1e-18);
}

TEST(PlogptMeasure, RefusesRoundTripsThatContradict) {
    EXPECT_FALSE(plogp_from_round_trips(10e-6, {{1000, 130e-6}})) << "no empty message";
    EXPECT_FALSE(plogp_from_round_trips(10e-6, {{0, 15e-6}})) << "L = -2.5 us";
    EXPECT_FALSE(plogp_from_round_trips(10e-6, {{0, 120e-6}, {9, 105e-6}})) << "g(9) = -5 us";
}

// III-C with the numbers of Table II, h = 1 and 2:
//   idle 100 us, loaded 602 and 1002 us: differences 502 and 902 us, the 2 d(h)
//   that Table II prints; d is half of that if the burst was bidirectional.
TEST(PlogptMeasure, BandwidthAndDelay) {
    const std::vector<HeightMeasurement> heights{{{72.5e6}, 100e-6, 602e-6},
                                                 {{72.5e6, 72.4e6}, 100e-6, 1002e-6}};
    const auto both = plogpt_links_from_bursts(heights, BurstDirection::both_ways);
    ASSERT_TRUE(both);
    EXPECT_EQ(both->bandwidth_bytes_per_s, (std::vector<double>{72.5e6, 144.9e6}));
    EXPECT_NEAR(both->buffer_delay_s[0], 251e-6, 1e-18);
    EXPECT_NEAR(both->buffer_delay_s[1], 451e-6, 1e-18);
    const auto one = plogpt_links_from_bursts(heights, BurstDirection::one_way);
    EXPECT_NEAR(one->buffer_delay_s[1], 902e-6, 1e-18);
}

TEST(PlogptMeasure, DelayIsNotNegative) {
    const auto links = plogpt_links_from_bursts({{{1e6}, 100e-6, 99e-6}}, BurstDirection::one_way);
    EXPECT_EQ(links->buffer_delay_s[0], 0);
}

TEST(PlogptMeasure, CountsThePairs) {
    EXPECT_EQ(plogpt_links_from_bursts({{{1e6}, 0, 0}, {{1e6}, 0, 0}}, BurstDirection::one_way)
                  .error()
                  .message,
              "height 2: 1 pairs were measured instead of 2");
}

}  // namespace
}  // namespace headway::test

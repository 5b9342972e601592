// SPDX-License-Identifier: Apache-2.0
// What paced connections lose, and what follows for the factor.
#include <gtest/gtest.h>

#include <random>

#include "daemon/divisor_control.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

TcpFlow flow(std::uint64_t cookie, const char* remote, std::uint64_t segments,
             std::uint64_t again = 0, std::optional<std::uint32_t> timeouts = {}) {
    return {{segments, again, timeouts}, cookie, *parse_ip_prefix(remote)};
}

FlowCounts counts() {
    return FlowCounts({*parse_ip_prefix("10.1.0.0/16"), *parse_ip_prefix("fd00:2::/64")});
}

// ------------------------------------------------------------------ FlowCounts

TEST(FlowCounts, TheFirstLookHasNothingToCompareWith) {
    FlowCounts watched = counts();
    EXPECT_FALSE(watched.look(std::vector{flow(1, "10.1.0.1", 100, 7)}, 5));
    EXPECT_EQ(watched.look(std::vector{flow(1, "10.1.0.1", 130, 9)}, 5), (FlowLosses{30, 2, 0}));
}

TEST(FlowCounts, OthersConnectionsDoNotCount) {
    FlowCounts watched = counts();
    (void)watched.look({}, 0);
    const std::vector flows{flow(1, "192.0.2.1", 500, 50), flow(2, "10.1.3.4", 10, 1),
                            flow(3, "fd00:2::9", 20, 1), flow(4, "fd00:3::9", 500, 50)};
    EXPECT_EQ(watched.look(flows, 0), (FlowLosses{30, 2, 0}));
}

TEST(FlowCounts, AConnectionThatIsNewHasDoneAllSinceTheLastLook) {
    FlowCounts watched = counts();
    (void)watched.look(std::vector{flow(1, "10.1.0.1", 100)}, 0);
    EXPECT_EQ(watched.look(std::vector{flow(2, "10.1.0.1", 40, 3)}, 0), (FlowLosses{40, 3, 0}));
    EXPECT_EQ(watched.look(std::vector{flow(2, "10.1.0.1", 41, 3)}, 0), (FlowLosses{1, 0, 0}));
}

// The receiver tells of probes of a tail (DSACK), sometimes after the look that has counted them.
TEST(FlowCounts, WhatHadArrivedIsNotLost) {
    FlowCounts watched = counts();
    (void)watched.look(std::vector{flow(1, "10.1.0.1", 100)}, 10);
    TcpFlow probed = flow(1, "10.1.0.1", 200, 3);
    probed.needless_retransmissions = 2;
    EXPECT_EQ(watched.look(std::vector{probed}, 10), (FlowLosses{100, 1, 0}));
    probed.retransmissions = 4;
    EXPECT_EQ(watched.look(std::vector{probed}, 10), (FlowLosses{0, 1, 0}));
    probed.needless_retransmissions = 3;
    EXPECT_EQ(watched.look(std::vector{probed}, 10), (FlowLosses{0, 0, 0}));
    probed.retransmissions = 5;
    EXPECT_EQ(watched.look(std::vector{probed}, 10), (FlowLosses{0, 1, 0}));
}

// Five time-outs of the node, of which two can be of paced connections: one segment each.
TEST(FlowCounts, TimeoutsOfTheNodeAreNoMoreThanSegmentsSentAgain) {
    FlowCounts watched = counts();
    (void)watched.look(std::vector{flow(1, "10.1.0.1", 100)}, 10);
    EXPECT_EQ(watched.look(std::vector{flow(1, "10.1.0.1", 200, 2)}, 15), (FlowLosses{100, 2, 2}));
    EXPECT_EQ(watched.look(std::vector{flow(1, "10.1.0.1", 300, 9)}, 16), (FlowLosses{100, 7, 1}));
    EXPECT_EQ(watched.look(std::vector{flow(1, "10.1.0.1", 400, 11)}, 16), (FlowLosses{100, 2, 0}));
}

TEST(FlowCounts, WhereTheKernelCountsBySocketTheNodeIsNotAsked) {
    FlowCounts watched = counts();
    (void)watched.look(std::vector{flow(1, "10.1.0.1", 100, 0, 0)}, 10);
    EXPECT_EQ(watched.look(std::vector{flow(1, "10.1.0.1", 200, 9, 3)}, 50), (FlowLosses{100, 9, 3}));
}

TEST(FlowCounts, ACounterThatBeganAnewIsNoGrowth) {
    FlowCounts watched = counts();
    (void)watched.look(std::vector{flow(1, "10.1.0.1", 0xffff'fff0, 8)}, 10);
    EXPECT_EQ(watched.look(std::vector{flow(1, "10.1.0.1", 16, 8)}, 2), (FlowLosses{0, 0, 0}));
    EXPECT_EQ(watched.look(std::vector{flow(1, "10.1.0.1", 20, 8)}, std::nullopt),
              (FlowLosses{4, 0, 0}));
}

// -------------------------------------------------------------- DivisorControl

constexpr FlowLosses calm{5'000, 0, 0};
constexpr FlowLosses timed_out{5'000, 8, 2};

/// Lets the same happen for so many seconds, and returns the changes that it led to.
std::vector<FactorChange> seconds(DivisorControl& control, const FlowLosses& losses, int count) {
    std::vector<FactorChange> changes;
    for (int i = 0; i < count; ++i) {
        if (const auto change = control.look(losses, 1s)) changes.push_back(*change);
    }
    return changes;
}

TEST(DivisorControl, TrustsUntilTimeoutsTakeMoreThanTheNextLevelCosts) {
    DivisorControl control({});
    EXPECT_TRUE(seconds(control, calm, 1000).empty());
    EXPECT_FALSE(control.look(timed_out, 1s)) << "one may be anything";
    EXPECT_TRUE(seconds(control, calm, 9).empty());
    EXPECT_FALSE(control.look(timed_out, 1s)) << "0.2 s of the last ten";
    const auto change = control.look(timed_out, 1s);
    ASSERT_FALSE(change) << "0.4 s of ten are less than a tenth";
    ASSERT_TRUE(seconds(control, timed_out, 5).size() == 1);
    EXPECT_EQ(control.factor(), divisor_one);
}

TEST(DivisorControl, GoesUpLevelByLevelToItsBound) {
    DivisorControl control({.divisor_factor_max_thousandths = 1'250});
    const auto changes = seconds(control, timed_out, 100);
    ASSERT_EQ(changes.size(), 4U);
    const DivisorFactor levels[] = {{}, 1'000, 1'100, 1'200, 1'250};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        EXPECT_EQ(changes[i].from, levels[i]);
        EXPECT_EQ(changes[i].to, levels[i + 1]);
        EXPECT_EQ(changes[i].losses, (FlowLosses{10'000, 16, 4})) << "two seconds of it";
        EXPECT_EQ(changes[i].over, 2s);
    }
    EXPECT_TRUE(control.is_at_its_bound());
    EXPECT_TRUE(seconds(control, calm, 59).empty());
    EXPECT_EQ(seconds(control, calm, 1).size(), 1U);
    EXPECT_FALSE(control.is_at_its_bound());
}

// 1.5 % and no time-out: each loss was mended at once, but a link is too full.
TEST(DivisorControl, ManySegmentsSentAgainAreTooMuch) {
    DivisorControl control({});
    EXPECT_TRUE(seconds(control, {900, 90, 0}, 1).empty()) << "too few to tell";
    EXPECT_EQ(seconds(control, {900, 90, 0}, 1).size(), 1U);
    EXPECT_TRUE(seconds(control, {10'000, 99, 0}, 50).empty());
    EXPECT_EQ(seconds(control, {10'000, 150, 0}, 10).size(), 5U)
        << "every other second: the first at new rates does not count";
}

TEST(DivisorControl, GoesDownAfterQuietTraffic) {
    DivisorControl control({.quiet = 10s});
    ASSERT_EQ(seconds(control, timed_out, 5).size(), 2U);
    EXPECT_EQ(control.factor(), 1'100U);
    EXPECT_TRUE(seconds(control, {}, 10'000).empty()) << "no traffic tells nothing";
    EXPECT_EQ(seconds(control, calm, 11).size(), 1U);
    EXPECT_EQ(control.factor(), 1'000U);
    EXPECT_EQ(seconds(control, calm, 11).size(), 1U);
    EXPECT_EQ(control.factor(), std::nullopt);
    EXPECT_TRUE(seconds(control, calm, 1'000).empty());
}

// A network that takes factor 1 and no less: tries of the level below become rare.
TEST(DivisorControl, TriesThatFailBecomeRare) {
    DivisorControl control({.quiet = 10s});
    int tries = 0;
    for (int second = 0; second < 10'000; ++second) {
        const auto change = control.look(control.factor() ? calm : timed_out, 1s);
        if (change && !change->to) ++tries;
    }
    // after 10, 20, 40, ... 2560, 3600 s
    EXPECT_EQ(tries, 10);
    EXPECT_EQ(control.quiet(), 1h);
}

TEST(DivisorControl, TriesThatHoldMakeTheNextOneSooner) {
    DivisorControl control({.quiet = 10s});
    (void)seconds(control, timed_out, 11);
    EXPECT_EQ(control.factor(), 1'300U);
    (void)seconds(control, calm, 11);      // down, and that fails
    (void)seconds(control, timed_out, 5);  // the first second after a change does not count
    EXPECT_EQ(control.quiet(), 20s);
    (void)seconds(control, calm, 200);
    EXPECT_EQ(control.quiet(), 10s);
    EXPECT_EQ(control.factor(), std::nullopt);
}

// A network that holds as much as it holds: whatever that is, the factor ends at most
// one level from it, and leaves its bounds never.
TEST(DivisorControl, FindsWhatTheNetworkTakes) {
    std::mt19937 random(4711);
    for (int network = 0; network < 200; ++network) {
        const std::uint32_t takes = 1'000 + random() % 500;
        DivisorControl control({.quiet = 30s});
        int losing = 0;
        for (int second = 0; second < 5'000; ++second) {
            const bool loses = !control.factor() || *control.factor() < takes;
            losing += loses ? 1 : 0;
            (void)control.look(loses ? timed_out : calm, 1s);
            if (control.factor()) {
                ASSERT_GE(*control.factor(), divisor_one);
                ASSERT_LE(*control.factor(), 1'500U);
            }
        }
        ASSERT_LT(losing, 60) << takes;
        ASSERT_LE(control.factor().value_or(0), takes + 100);
    }
}

}  // namespace
}  // namespace headway::test

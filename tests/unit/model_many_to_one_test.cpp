// SPDX-License-Identifier: Apache-2.0
// Lastovetsky's heterogeneous hosts: each equation with its numbers.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "models/many_to_one.hpp"

namespace headway::test {
namespace {

constexpr double ms = 1e-3;

// (1): C 1 and 2 ms, t 1 and 3 ns/byte, 1000 bytes at 1 MB/s.
TEST(ManyToOne, PointToPoint) {
    EXPECT_DOUBLE_EQ(point_to_point_s({{1 * ms, 1e-9}, {2 * ms, 3e-9}, 1e6}, 1000),
                     1 * ms + 1e-6 + 2 * ms + 3e-6 + 1 * ms);
    EXPECT_DOUBLE_EQ(point_to_point_s({{1 * ms, 1e-9}, {2 * ms, 3e-9}, 1e6}, 0), 3 * ms);
}

// (2): C_0 once, t_0 M for each of three; then the longest up to S, else the sum.
TEST(ManyToOne, OneToMany) {
    const ProcessingDelay root{10 * ms, 1e-6};
    const std::vector<DelayedPath> to{
        {{1 * ms, 0}, 1e6}, {{2 * ms, 0}, 1e6}, {{0, 2e-6}, 0.5e6}};
    const double send = 10 * ms + 3 * 1 * ms;
    EXPECT_DOUBLE_EQ(one_to_many_s(root, to, 1000, 1000).value(), send + 4 * ms);
    EXPECT_DOUBLE_EQ(one_to_many_s(root, to, 1000, 999).value(), send + 2 * ms + 3 * ms + 4 * ms);
    EXPECT_FALSE(one_to_many_s(root, {}, 1000, 1000));
}

// (3)
TEST(ManyToOne, IndependentPairs) {
    const std::vector<IndependentPair> pairs{{{1 * ms, 0}, {1 * ms, 0}, 1e6},
                                             {{0, 0}, {0, 0}, 1e5},
                                             {{2 * ms, 0}, {5 * ms, 0}, 1e6}};
    EXPECT_DOUBLE_EQ(independent_pairs_s(pairs, 1000).value(), 10 * ms);
    EXPECT_DOUBLE_EQ(independent_pairs_s(pairs, 100).value(), 7.1 * ms);
    EXPECT_FALSE(independent_pairs_s({}, 100));
}

const std::vector<DelayedPath> three{{{1 * ms, 0}, 1e6}, {{1 * ms, 0}, 1e6}, {{1 * ms, 0}, 2e5}};

ManyToOneRegions regions() {
    ManyToOneRegions r;
    r.congested_s = 0.25;
    r.small_factor = 2;
    r.large_factor = 3;
    return r;
}

// (4), (5): the header's example, times Delta_1 = 2.
TEST(ManyToOne, SmallSizesWithAndWithoutIdleTime) {
    const auto ignored = many_to_one(three, 1000, regions(), ReceiverIdle::ignored).value();
    EXPECT_DOUBLE_EQ(ignored.linear_s, 4 * ms);
    EXPECT_DOUBLE_EQ(ignored.idle_s, 3 * ms);
    EXPECT_DOUBLE_EQ(ignored.time_s, 8 * ms);
    const auto counted = many_to_one(three, 1000, regions(), ReceiverIdle::counted).value();
    EXPECT_DOUBLE_EQ(counted.time_s, 14 * ms);
}

// (4) to (7) at their borders: M1 and M2 belong to the smaller region.
TEST(ManyToOne, ThreeRegions) {
    const auto time = [](double bytes) {
        return many_to_one(three, bytes, regions(), ReceiverIdle::ignored).value();
    };
    EXPECT_DOUBLE_EQ(time(3072).time_s, 2 * time(3072).linear_s);
    EXPECT_DOUBLE_EQ(time(3073).time_s, 0.25);
    EXPECT_DOUBLE_EQ(time(65536).time_s, 0.25);
    EXPECT_DOUBLE_EQ(time(65537).time_s, 3 * time(65537).linear_s);
    // idle time does not count beyond M1
    EXPECT_DOUBLE_EQ(
        many_to_one(three, 65537, regions(), ReceiverIdle::counted).value().time_s,
        time(65537).time_s);
}

// Message 0 is the one with the least C + t M, even if its path is so slow that
// the other arrives first: then nobody waits for that one.
TEST(ManyToOne, MessageZeroHasTheLeastDelay) {
    const std::vector<DelayedPath> sources{{{2 * ms, 0}, 1e6}, {{1 * ms, 0}, 1e4}};
    const auto time = many_to_one(sources, 1000, regions(), ReceiverIdle::counted).value();
    EXPECT_DOUBLE_EQ(time.linear_s, 1 * ms + 100 * ms + 2 * ms);
    EXPECT_DOUBLE_EQ(time.idle_s, 0);
}

// If two delays are equal, the first in the input counts, with its own rate.
TEST(ManyToOne, TiesGoByInputOrder) {
    const std::vector<DelayedPath> sources{{{1 * ms, 0}, 1e6}, {{1 * ms, 0}, 1e5}};
    EXPECT_DOUBLE_EQ(
        many_to_one(sources, 1000, regions(), ReceiverIdle::ignored).value().linear_s, 3 * ms);
    const std::vector<DelayedPath> swapped{sources[1], sources[0]};
    EXPECT_DOUBLE_EQ(
        many_to_one(swapped, 1000, regions(), ReceiverIdle::ignored).value().linear_s, 12 * ms);
}

// The naive server: a clock that goes from event to event.
double naive_idle(std::vector<DelayedPath> sources, double bytes) {
    const auto delay = [&](const DelayedPath& s) {
        return s.host.fixed_s + s.host.per_byte_s * bytes;
    };
    const auto arrival = [&](const DelayedPath& s) {
        return delay(s) + bytes / s.rate_bytes_per_s;
    };
    std::size_t first = 0;
    for (std::size_t i = 1; i < sources.size(); ++i) {
        if (delay(sources[i]) < delay(sources[first])) first = i;
    }
    double clock = arrival(sources[first]);
    sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(first));
    double idle = 0;
    while (!sources.empty()) {
        std::size_t next = 0;
        for (std::size_t i = 1; i < sources.size(); ++i) {
            const double a = arrival(sources[i]);
            const double b = arrival(sources[next]);
            if (a < b || (a == b && delay(sources[i]) < delay(sources[next]))) next = i;
        }
        if (arrival(sources[next]) > clock) {
            idle += arrival(sources[next]) - clock;
            clock = arrival(sources[next]);
        }
        clock += delay(sources[next]);
        sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(next));
    }
    return idle;
}

TEST(ManyToOneProperty, IdleTimeAgreesWithTheNaiveServer) {
    std::mt19937 random(1);
    for (int i = 0; i < 500; ++i) {
        std::vector<DelayedPath> sources(1 + random() % 12);
        for (auto& source : sources) {
            source = {{(random() % 5) * ms, (random() % 3) * 1e-7}, 1e5 * (1 + random() % 20)};
        }
        const double bytes = random() % 4000;
        const auto time = many_to_one(sources, bytes, regions(), ReceiverIdle::counted).value();
        ASSERT_NEAR(time.idle_s, naive_idle(sources, bytes), 1e-12);
        double sum = 0;
        for (const auto& source : sources) sum += source.host.of(bytes);
        // the linear part is all the delays and one transmission
        ASSERT_GE(time.linear_s, sum - 1e-12);
        ASSERT_LE(time.linear_s, sum + bytes / 1e5 + 1e-12);
    }
}

TEST(ManyToOne, GatherLeavesTheRootOut) {
    const std::vector<DelayedPath> hosts{three[0], {{9, 9}, 1}, three[1], three[2]};
    const auto expected = many_to_one(three, 1000, regions(), ReceiverIdle::counted).value();
    const auto got = gather(hosts, 1, 1000, regions(), ReceiverIdle::counted).value();
    EXPECT_DOUBLE_EQ(got.time_s, expected.time_s);
    EXPECT_FALSE(gather(hosts, 4, 1000, regions(), ReceiverIdle::counted));
    EXPECT_FALSE(gather(std::span(hosts).first(1), 0, 1000, regions(), ReceiverIdle::counted));
}

TEST(ManyToOne, RefusesRegionsInTheWrongOrder) {
    auto r = regions();
    r.small_bytes = r.large_bytes + 1;
    EXPECT_FALSE(many_to_one(three, 1000, r, ReceiverIdle::ignored));
}

}  // namespace
}  // namespace headway::test

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "models/many_to_one_fit.hpp"

namespace headway::test {
namespace {

/// One source whose linear part is M microseconds.
std::vector<DelayedPath> microsecond_a_byte() {
    return {{{0, 0}, 1e6}};
}

// The worked example of many_to_one_fit.hpp.
TEST(ManyToOneFit, WorkedExample) {
    const auto fit = *fit_many_to_one(microsecond_a_byte(),
                                      {{1, 1e-6}, {2, 2e-6}, {4, 51e-6}, {6, 51e-6},
                                       {8, 12e-6}, {10, 15e-6}},
                                      ReceiverIdle::ignored);
    EXPECT_TRUE(fit.congested);
    EXPECT_DOUBLE_EQ(fit.regions.small_bytes, 2);
    EXPECT_DOUBLE_EQ(fit.regions.large_bytes, 6);
    EXPECT_NEAR(fit.regions.small_factor, 1, 1e-12);
    EXPECT_NEAR(fit.regions.congested_s, 51e-6, 1e-15);
    EXPECT_NEAR(fit.regions.large_factor, 1.5, 1e-12);
    for (const double percent : fit.error_percent) EXPECT_NEAR(percent, 0, 1e-6);
}

// Regions put in come out again, whatever they are and under 2 % of noise; the
// borders to the measured size.
TEST(ManyToOneFit, FindsWhatMadeTheTimes) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> factor(0.5, 3);
    std::uniform_real_distribution<double> noise(0.98, 1.02);
    const std::vector<DelayedPath> sources{{{1e-4, 1e-9}, 1e8}, {{2e-4, 2e-9}, 1e8},
                                           {{5e-5, 1e-9}, 5e7}};
    for (int round = 0; round < 100; ++round) {
        ManyToOneRegions regions{4096, 65536, 0.25, factor(random), factor(random)};
        std::vector<ManyToOneSample> samples;
        for (double bytes = 512; bytes <= 2e6; bytes *= 2) {
            const auto idle = round % 2 ? ReceiverIdle::counted : ReceiverIdle::ignored;
            samples.push_back({bytes, many_to_one(sources, bytes, regions, idle)->time_s *
                                          noise(random)});
        }
        std::shuffle(samples.begin(), samples.end(), random);
        const auto fit = *fit_many_to_one(sources, samples, round % 2 ? ReceiverIdle::counted
                                                                      : ReceiverIdle::ignored);
        ASSERT_TRUE(fit.congested);
        EXPECT_EQ(fit.regions.small_bytes, 4096);
        EXPECT_EQ(fit.regions.large_bytes, 65536);
        EXPECT_NEAR(fit.regions.small_factor, regions.small_factor, regions.small_factor * 0.02);
        EXPECT_NEAR(fit.regions.large_factor, regions.large_factor, regions.large_factor * 0.02);
        EXPECT_NEAR(fit.regions.congested_s, 0.25, 0.005);
    }
}

TEST(ManyToOneFit, NoiseIsNoCongestion) {
    std::mt19937 random(4);
    std::uniform_real_distribution<double> noise(0.9, 1.1);
    int taken = 0;
    for (int round = 0; round < 200; ++round) {
        std::vector<ManyToOneSample> samples;
        for (double bytes = 1; bytes < 5000; bytes *= 2) {
            samples.push_back({bytes, 2e-6 * bytes * noise(random)});
        }
        const auto fit = *fit_many_to_one(microsecond_a_byte(), samples, ReceiverIdle::ignored);
        taken += fit.congested ? 1 : 0;
        if (fit.congested) continue;
        EXPECT_NEAR(fit.regions.small_factor, 2, 0.1);
    }
    EXPECT_LE(taken, 20) << "of 200 were taken for congestion";
}

TEST(ManyToOneFit, SaysWhatIsWrong) {
    const auto sources = microsecond_a_byte();
    EXPECT_FALSE(fit_many_to_one(sources, {{1, 1}, {2, 1}}, ReceiverIdle::ignored));
    EXPECT_FALSE(fit_many_to_one(sources, {{1, 1}, {2, 1}, {2, 1}, {3, 1}, {4, 1}},
                                 ReceiverIdle::ignored));
    EXPECT_FALSE(fit_many_to_one(sources, {{1, 1}, {2, 0}, {3, 1}, {4, 1}, {5, 1}},
                                 ReceiverIdle::ignored));
    EXPECT_FALSE(fit_many_to_one({}, {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}},
                                 ReceiverIdle::ignored));
}

/// S is found where it was, whether no size, some or all are below it.
TEST(OneToManyFit, FindsWhereReceiversBecomeSerial) {
    const ProcessingDelay root{20e-6, 1e-9};
    const std::vector<DelayedPath> paths(7, {{30e-6, 2e-9}, 1e8});
    constexpr double all_sizes = std::numeric_limits<double>::infinity();
    for (const double buffered_bytes : {0.0, 2048.0, 8192.0, all_sizes}) {
        std::vector<ManyToOneSample> samples;
        for (const double bytes : {32768.0, 512.0, 2048.0, 8192.0}) {
            const double noise = bytes == 2048 ? 1.05 : 0.97;
            samples.push_back({bytes, noise * *one_to_many_s(root, paths, bytes, buffered_bytes)});
        }
        const auto fit = fit_one_to_many(root, paths, samples);
        ASSERT_TRUE(fit);
        EXPECT_EQ(fit->buffered_bytes, buffered_bytes);
        EXPECT_NEAR(fit->error_percent[1], 5, 1e-9) << "by size";
    }
    EXPECT_FALSE(fit_one_to_many(root, paths, {{512, 1e-3}}));
    EXPECT_FALSE(fit_one_to_many(root, {}, {{512, 1e-3}, {1024, 1e-3}}));
}

}  // namespace
}  // namespace headway::test

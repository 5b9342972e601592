// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <vector>

#include "send_clock.hpp"

namespace headway::glue {
namespace {

using namespace std::chrono_literals;
using Moment = SendClock::Clock::time_point;

constexpr std::uint64_t rate_bytes_per_s = 1'000'000;
constexpr std::uint64_t frame_bytes = 1000;
constexpr auto frame = 1ms;  // as long as it takes

/// When pieces leave that are sent as soon as they are due, or so much later.
std::vector<Moment> sent_with(const std::vector<std::chrono::microseconds>& delays) {
    SendClock clock(rate_bytes_per_s, Moment{});
    std::vector<Moment> sent;
    Moment now{};
    for (const auto delay : delays) {
        now = std::max(now, clock.due()) + delay;
        clock.send(frame_bytes, now);
        sent.push_back(now);
    }
    return sent;
}

TEST(SendClock, PiecesKeepTheRate) {
    EXPECT_EQ(sent_with({0us, 0us, 0us, 0us}), (std::vector{Moment{0ms}, Moment{1ms}, Moment{2ms}, Moment{3ms}}));
}

TEST(SendClock, WhatIsLateByLessThanAPieceIsMadeUp) {
    EXPECT_EQ(sent_with({0us, 400us, 0us, 0us}), (std::vector{Moment{0ms}, Moment{1400us}, Moment{2ms}, Moment{3ms}}));
}

TEST(SendClock, WhatIsLateByMoreIsMadeUpByOnePiece) {
    const auto sent = sent_with({0us, 5ms, 0us, 0us, 0us});
    EXPECT_EQ(sent, (std::vector{Moment{0ms}, Moment{6ms}, Moment{6ms}, Moment{7ms}, Moment{8ms}}));
}

// In front of a switch with short queues this is all that counts.
TEST(SendClock, NoTwoPiecesMoreThanTheRateLeaveInAnyTime) {
    std::mt19937 random(1);
    std::vector<std::chrono::microseconds> delays;
    for (int piece = 0; piece < 2000; ++piece) {
        const bool is_late = random() % 8 == 0;
        delays.emplace_back(is_late ? random() % 5000 : random() % 30);
    }
    const auto sent = sent_with(delays);
    for (std::size_t first = 0; first < sent.size(); ++first) {
        for (std::size_t last = first + 1; last < std::min(first + 40, sent.size()); ++last) {
            const auto pieces_between = static_cast<int>(last - first);
            EXPECT_GE(sent[last] - sent[first], (pieces_between - 1) * frame);
        }
    }
}

TEST(SendClock, WithoutALimitEverythingIsDueAtOnce) {
    SendClock clock(0, Moment{});
    clock.send(1'000'000, Moment{5ms});
    EXPECT_LE(clock.due(), Moment{5ms});
}

}  // namespace
}  // namespace headway::glue

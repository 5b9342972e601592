// SPDX-License-Identifier: Apache-2.0
// The byte clock of sch_gap, compiled unchanged from kmod/gap_byteclock.h.
//
// `Wire` plays the qdisc's dequeue: whenever the wire is free it sends the
// class that is due, or a gap of exactly the missing length.  Every number
// asserted is exact arithmetic; nothing here depends on real time.

#include "gap_byteclock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace {

constexpr u64 kGigabit = 125'000'000;  // bytes per second
constexpr u32 kMtuSlot = 1514 + 24;
constexpr u64 kCredit = kMtuSlot + GAP_SLOT_MIN_BYTES;

struct Class {
  gap_rate rate{};
  u64 next = 0;
  u32 wire = 0;
  std::vector<u64> starts{};
  u64 lost = 0;
};

class Wire {
 public:
  explicit Wire(u64 link_rate) { gap_clock_init(&clock_, link_rate, 0); }

  void add(u64 rate, u32 frame_bytes) {
    Class c;
    gap_rate_set(&c.rate, rate);
    c.wire = gap_wire_bytes(frame_bytes);
    c.next = gap_pace_start(c.next, clock_.bytes);
    classes.push_back(c);
  }

  void run(u64 until_bytes) {
    while (clock_.bytes < until_bytes) step();
  }

  std::vector<Class> classes;
  std::vector<u32> gaps;

 private:
  void step() {
    auto due = std::min_element(classes.begin(), classes.end(), [](auto& a, auto& b) {
      return a.next < b.next;
    });
    if (due->next > clock_.bytes) {
      gaps.push_back(gap_slot_bytes(due->next - clock_.bytes, kMtuSlot));
      clock_.bytes += gaps.back();
      return;
    }
    due->starts.push_back(clock_.bytes);
    due->lost += gap_rate_charge(&due->rate, clock_.link_rate, due->next, clock_.bytes,
                                 due->wire, kCredit, &due->next);
    clock_.bytes += due->wire;
  }

  gap_clock clock_{};
};

// Start k of a class that was backlogged from byte-time 0 is ideally at
// k * wire * link / rate.
double ideal(const Class& c, size_t k, u64 link_rate) {
  return static_cast<double>(k) * c.wire * static_cast<double>(link_rate) /
         static_cast<double>(c.rate.rate);
}

TEST(ByteClock, WireBytesCountPaddingAndOverhead) {
  EXPECT_EQ(gap_wire_bytes(0), 84u);
  EXPECT_EQ(gap_wire_bytes(60), 84u);
  EXPECT_EQ(gap_wire_bytes(61), 85u);
  EXPECT_EQ(gap_wire_bytes(1514), 1538u);
}

struct Case {
  double share;
  u32 frame_bytes;
};

class OneClass : public testing::TestWithParam<Case> {};

TEST_P(OneClass, KeepsRateAndEveryStart) {
  const auto [share, frame_bytes] = GetParam();
  Wire wire(kGigabit);
  wire.add(static_cast<u64>(std::llround(share * kGigabit)), frame_bytes);
  wire.run(50'000'000);
  const Class& c = wire.classes[0];
  ASSERT_GT(c.starts.size(), 300u);
  for (size_t k = 0; k < c.starts.size(); ++k) {
    // never early, never later than the shortest gap
    ASSERT_GE(static_cast<double>(c.starts[k]) + 1, ideal(c, k, kGigabit)) << k;
    ASSERT_LE(static_cast<double>(c.starts[k]), ideal(c, k, kGigabit) + 84) << k;
  }
  EXPECT_EQ(c.lost, 0u);
  const double sent = static_cast<double>(c.starts.size() - 1) * c.wire;
  const double rate = sent / static_cast<double>(c.starts.back());
  EXPECT_NEAR(rate / share, 1.0, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Sweep, OneClass,
    testing::Values(Case{0.01, 1514}, Case{0.10, 60}, Case{0.10, 512}, Case{0.10, 1514},
                    Case{0.3125, 60}, Case{0.3125, 512}, Case{0.3125, 1514}, Case{0.50, 60},
                    Case{0.50, 512}, Case{0.50, 1514}, Case{0.90, 60}, Case{0.90, 512},
                    Case{0.90, 1514}, Case{0.99, 60}, Case{0.99, 512}, Case{0.99, 1514}));

TEST(ByteClock, RatesThatDivideNothingHaveNoLongRunError) {
  // 1/7 of the link, 85 wire bytes: the interval 595.0000047... is never whole
  Wire wire(kGigabit);
  wire.add(17'857'143, 61);
  wire.run(500'000'000);
  const Class& c = wire.classes[0];
  const size_t last = c.starts.size() - 1;
  EXPECT_NEAR(static_cast<double>(c.starts[last]), ideal(c, last, kGigabit), 85);
}

TEST(ByteClock, AForeignFrameDelaysAStartButNotTheSchedule) {
  // 10 % of small frames beside 89 % of long ones: together under the link
  Wire wire(kGigabit);
  wire.add(12'500'000, 60);
  wire.add(111'250'000, 1514);
  wire.run(100'000'000);
  for (const Class& c : wire.classes) {
    const u32 foreign = 1538;
    for (size_t k = 0; k < c.starts.size(); ++k)
      ASSERT_LE(static_cast<double>(c.starts[k]), ideal(c, k, kGigabit) + 84 + foreign) << k;
    EXPECT_EQ(c.lost, 0u);
    const size_t last = c.starts.size() - 1;
    EXPECT_NEAR(static_cast<double>(c.starts[last]) / ideal(c, last, kGigabit), 1.0, 2e-5);
  }
}

TEST(ByteClock, LatenessBeyondOnePeriodIsLostNotBanked) {
  gap_rate rate{};
  gap_rate_set(&rate, kGigabit / 2);
  u64 next = 0;
  // interval 3076; starting 10 000 late may make up 3076 of them
  EXPECT_EQ(gap_rate_charge(&rate, kGigabit, 1000, 11'000, 1538, kCredit, &next), 10'000u - 3076u);
  EXPECT_EQ(next, 11'000u);
}

TEST(ByteClock, AnIdleClassEarnsNoCreditAndOwesNoStaleGap) {
  EXPECT_EQ(gap_pace_start(5000, 1'000'000), 1'000'000u);
  // still owes the gap after its last frame
  EXPECT_EQ(gap_pace_start(1'000'000, 900'000), 1'000'000u);
  // the clock has wrapped around meanwhile
  EXPECT_EQ(gap_pace_start(~0ULL - 10, 5), 5u);
  EXPECT_EQ(gap_pace_start(5, ~0ULL - 10), 5u);
  // a class that was idle for a century on a device of unknown speed owes nothing
  for (u64 years = 1; years <= 100; ++years) {
    const u64 now = 5000 + years * 366 * 86400 * GAP_LINK_RATE_NOMINAL;
    EXPECT_EQ(gap_pace_start(5000, now), now) << years;
  }
}

TEST(ByteClock, IdleWireTimeIsCountedOnce) {
  gap_clock clock{};
  gap_clock_init(&clock, kGigabit, 1'000'000);
  clock.bytes += 12'500;  // 100 us of frames: the wire is free at 1.1 ms
  EXPECT_EQ(gap_clock_wire_free_ns(&clock), 1'100'000u);
  gap_clock_sync_idle(&clock, 1'050'000);  // frames still leave the ring: not idle
  EXPECT_EQ(clock.bytes, 12'500u);
  gap_clock_sync_idle(&clock, 1'300'000);  // 200 us idle = 25 000 byte-times
  EXPECT_EQ(clock.bytes, 37'500u);
  gap_clock_sync_idle(&clock, 1'300'000);
  EXPECT_EQ(clock.bytes, 37'500u);
}

TEST(ByteClock, ManyTiesDoNotAddUpToARateThatIsTooLow) {
  gap_clock clock{};
  gap_clock_init(&clock, kGigabit, 0);
  u64 now_ns = 0;
  for (int tie = 0; tie < 1000; ++tie) {
    now_ns += 100'007;  // 12 500.875 byte-times
    gap_clock_sync_idle(&clock, now_ns);
  }
  EXPECT_EQ(clock.bytes, now_ns / 8);
}

TEST(ByteClock, TieHoldsForYearsOnFastLinks) {
  gap_clock clock{};
  gap_clock_init(&clock, 50'000'000'000, 0);  // 400 Gbit/s
  const u64 year_ns = 31'536'000ULL * 1'000'000'000;
  gap_clock_sync_idle(&clock, year_ns);
  EXPECT_EQ(clock.bytes, 31'536'000ULL * 50'000'000'000);
}

TEST(ByteClock, LinkRateChangeKeepsTimeAlreadyCounted) {
  gap_clock clock{};
  gap_clock_init(&clock, kGigabit, 0);
  clock.bytes += 125'000;  // 1 ms at 1 Gbit/s
  gap_clock_set_link_rate(&clock, kGigabit / 10, 500'000);
  EXPECT_EQ(gap_clock_wire_free_ns(&clock), 1'000'000u);
  clock.bytes += 12'500;  // 1 ms at 100 Mbit/s
  EXPECT_EQ(gap_clock_wire_free_ns(&clock), 2'000'000u);
}

TEST(ByteClock, ANewRateRescalesTheIntervalInProgress) {
  EXPECT_EQ(gap_pace_rescale(10'000, 2000, 1000, 4000), 4000u);  // 8000 left at 1/4
  EXPECT_EQ(gap_pace_rescale(1000, 2000, 1000, 4000), 1000u);    // nothing left
}

TEST(ByteClock, ANewRateForgetsTheRemainder) {
  gap_rate rate{};
  gap_rate_set(&rate, kGigabit / 3);
  gap_rate_interval(&rate, kGigabit, 85);
  EXPECT_EQ(rate.wire, 85u);
  EXPECT_NE(rate.rem, 0u);
  gap_rate_set(&rate, kGigabit);
  EXPECT_EQ(rate.rem, 0u);
  EXPECT_EQ(gap_rate_interval(&rate, kGigabit, 85), 85u);
}

TEST(ByteClock, AheadOfRealTimeByNoMoreThanAFifo) {
  gap_clock clock{};
  gap_clock_init(&clock, kGigabit, 0);
  clock.bytes += GAP_FIFO_MAX_BYTES - 1;  // a FIFO may hold so much
  EXPECT_EQ(gap_clock_sync_idle(&clock, 0), 0u);
  EXPECT_GT(gap_clock_wire_free_ns(&clock), 4'000'000u);
  clock.bytes += 125'000;
  EXPECT_EQ(gap_clock_sync_idle(&clock, 1), 0u);
  EXPECT_EQ(gap_clock_wire_free_ns(&clock), 1 + gap_clock_bytes_to_ns(&clock, GAP_FIFO_MAX_BYTES));
}

// A clock that is ahead by more than the device can hold comes back to that before it sleeps;
// one that is not stays, so that no gap gets shorter.
TEST(ByteClock, LimitedByWhatTheDeviceHolds) {
  constexpr u32 kHeld = 10'000;
  const u64 most = kHeld * 7 / 5 + GAP_FIFO_MAX_BYTES;
  for (const u64 ahead : {most - 1000, most + 1'000'000}) {
    gap_clock clock{};
    gap_clock_init(&clock, kGigabit, 0);
    clock.bytes += ahead;
    const u64 bytes = clock.bytes;
    gap_clock_cap(&clock, 500, kHeld);
    EXPECT_EQ(clock.bytes, bytes);
    EXPECT_EQ(gap_clock_wire_free_ns(&clock),
              ahead < most ? gap_clock_bytes_to_ns(&clock, ahead) : 500 + gap_clock_bytes_to_ns(&clock, most));
  }
}

TEST(GapSlot, NeverTooShortNeverTooLongNeverLeavesAnImpossibleRest) {
  EXPECT_EQ(gap_slot_bytes(1, kMtuSlot), 84u);
  EXPECT_EQ(gap_slot_bytes(84, kMtuSlot), 84u);
  EXPECT_EQ(gap_slot_bytes(1538, kMtuSlot), 1538u);
  for (u64 need = 84; need < 10'000; ++need) {
    u64 left = need;
    while (left) {
      const u32 slot = gap_slot_bytes(left, kMtuSlot);
      ASSERT_GE(slot, 84u) << need;
      ASSERT_LE(slot, kMtuSlot) << need;
      ASSERT_LE(slot, left) << need;  // what a gap can express is expressed exactly
      left -= slot;
    }
  }
}

TEST(GapSlot, DevicesWithTinyFramesStillGetGaps) {
  // MTU 68 (the smallest IPv4 allows): 82 bytes of frame, 106 on the wire
  for (u64 need = 1; need < 2000; ++need) {
    const u32 slot = gap_slot_bytes(need, 106);
    ASSERT_GE(slot, 84u);
    ASSERT_LE(slot, 106u);
  }
}

}  // namespace

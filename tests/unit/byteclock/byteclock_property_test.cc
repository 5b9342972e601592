// SPDX-License-Identifier: Apache-2.0
// Properties of the byte clock for random rates, sizes and idle times.  What
// must hold is in checked_clock.hh; here is what a link does with it.

#include "checked_clock.hh"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace {

using byteclock::CheckedClock;
using byteclock::CheckedPace;
using byteclock::kNsPerSecond;
using byteclock::kShortestSlot;

constexpr u64 kBytesPerGigabit = 125'000'000;

class Random {
 public:
  explicit Random(u64 seed) : engine_(seed) {}

  u64 between(u64 lowest, u64 highest) {
    return std::uniform_int_distribution<u64>(lowest, highest)(engine_);
  }
  // Every order of magnitude as likely as any other.
  u64 magnitude(u64 lowest, u64 highest) {
    const double low = std::log(static_cast<double>(lowest));
    const double high = std::log(static_cast<double>(highest));
    const double value = std::exp(std::uniform_real_distribution<double>(low, high)(engine_));
    return std::clamp(static_cast<u64>(value), lowest, highest);
  }
  u32 wire(u32 longest_frame) {
    return gap_wire_bytes(static_cast<u32>(between(0, longest_frame)));
  }

 private:
  std::mt19937_64 engine_;
};

// A link paced by gap frames: classes with frames of random sizes up to a
// longest one each, sent when they are due, gaps of the missing length.
class Link {
 public:
  Link(Random& random, u64 link_rate, u32 slot_max)
      : random_(random), clock_(link_rate, 0), slot_max_(slot_max) {}

  void add(u64 rate, u32 longest_frame) {
    classes_.push_back({CheckedPace(rate, clock_.link_rate(), clock_.bytes()), longest_frame});
  }

  // Send `frames` frames, all classes backlogged; the worst lateness.
  u64 send(int frames) {
    u64 worst = 0;
    for (int sent = 0; sent < frames;) {
      Class& due = earliest();
      if (due.pace.next() > clock_.bytes()) {
        clock_.fill(due.pace.next() - clock_.bytes(), slot_max_);
        continue;
      }
      const u32 wire = random_.wire(due.longest_frame);
      worst = std::max(worst, due.pace.lateness(clock_.bytes()));
      due.pace.charge(clock_.bytes(), wire, slot_max_ + kShortestSlot);
      clock_.send(wire);
      ++sent;
    }
    return worst;
  }

  // Nothing is queued until `idle_ns` after the device has run empty.
  void idle(u64 idle_ns) {
    clock_.tie(clock_.wire_free_ns() + idle_ns);
    for (Class& c : classes_) c.pace.activate(clock_.bytes());
  }

  u64 need() { return std::max(earliest().pace.next(), clock_.bytes()) - clock_.bytes(); }
  u64 lost() const {
    u64 sum = 0;
    for (const Class& c : classes_) sum += c.pace.lost();
    return sum;
  }

 private:
  struct Class {
    CheckedPace pace;
    u32 longest_frame;
  };

  Class& earliest() {
    return *std::min_element(classes_.begin(), classes_.end(), [](auto& a, auto& b) {
      return a.pace.next() < b.pace.next();
    });
  }

  Random& random_;
  CheckedClock clock_;
  u32 slot_max_;
  std::vector<Class> classes_;
};

// Links from 8 kbit/s to 1.6 Tbit/s, MTUs from 68 to 9000.
constexpr u64 kSlowestLink = 1'000;
constexpr int kRounds = 300;
constexpr u64 kLongestBurstNs = 1'000'000;

u32 random_longest_frame(Random& random) {
  return static_cast<u32>(random.between(68 + 14, 9000 + 14));
}

TEST(ByteClockProperty, OneClassKeepsItsRateAndEveryStart) {
  Random random(1);
  for (int round = 0; round < kRounds; ++round) {
    const u64 link_rate = random.magnitude(kSlowestLink, GAP_RATE_MAX);
    const u32 longest = random_longest_frame(random);
    Link link(random, link_rate, gap_wire_bytes(longest));
    link.add(random.magnitude(std::max<u64>(1, link_rate / 100'000), link_rate), longest);
    ASSERT_LT(link.send(500), kShortestSlot) << round;
    ASSERT_EQ(link.lost(), 0u) << round;
  }
}

TEST(ByteClockProperty, TwoClassesCostEachOtherOneFrame) {
  Random random(2);
  for (int round = 0; round < kRounds; ++round) {
    const u64 link_rate = random.magnitude(kSlowestLink, GAP_RATE_MAX);
    const u32 longest = random_longest_frame(random);
    const u64 first = random.magnitude(std::max<u64>(1, link_rate / 1000), link_rate - 1);
    Link link(random, link_rate, gap_wire_bytes(longest));
    link.add(first, longest);
    link.add(random.between(1, link_rate - first), random_longest_frame(random) % (longest + 1));
    // a byte-time for the rounding of either schedule
    ASSERT_LT(link.send(1000), kShortestSlot + gap_wire_bytes(longest) + 2) << round;
    ASSERT_EQ(link.lost(), 0u) << round;
  }
}

TEST(ByteClockProperty, ManyClassesThatAskForTooMuchNeitherBurstNorBank) {
  Random random(3);
  for (int round = 0; round < kRounds; ++round) {
    const u64 link_rate = random.magnitude(kSlowestLink, GAP_RATE_MAX);
    const u32 longest = random_longest_frame(random);
    Link link(random, link_rate, gap_wire_bytes(longest));
    for (u64 left = random.between(1, 20); left; --left)
      link.add(random.magnitude(std::max<u64>(1, link_rate / 1000), link_rate), longest);
    link.send(1000);  // the promises are checked on the way
  }
}

TEST(ByteClockProperty, AfterIdleNoDebtAndNoCredit) {
  Random random(4);
  for (int round = 0; round < kRounds; ++round) {
    const u64 link_rate = random.magnitude(kSlowestLink, 50'000'000'000);
    const u64 rate = random.magnitude(std::max<u64>(1, link_rate / 100'000), link_rate);
    const u32 longest = random_longest_frame(random);
    Link link(random, link_rate, gap_wire_bytes(longest));
    link.add(rate, longest);
    for (int burst = 0; burst < 10; ++burst) {
      link.send(static_cast<int>(random.between(1, 50)));
      // as long as the longest frame is apart from the next, or longer
      const u64 interval_ns = 1 + gap_wire_bytes(longest) * kNsPerSecond / rate;
      link.idle(interval_ns + random.magnitude(1, 1000 * kNsPerSecond));
      ASSERT_EQ(link.need(), 0u) << round;
      ASSERT_LT(link.send(50), kShortestSlot) << round;
      // a short one leaves the rest of the interval to wait, no more
      link.idle(random.magnitude(1, interval_ns));
    }
  }
}

TEST(ByteClockProperty, RatesChangeAtAnyMoment) {
  Random random(5);
  for (int round = 0; round < kRounds; ++round) {
    u64 link_rate = random.magnitude(kSlowestLink, 50'000'000'000);
    u64 now_ns = 0;
    CheckedClock clock(link_rate, now_ns);
    CheckedPace pace(link_rate, link_rate, 0);
    for (int step = 0; step < 300; ++step) {
      const u64 what = random.between(0, 9);
      if (what == 0) {
        pace.set_rate(random.magnitude(std::max<u64>(1, link_rate / 10'000), link_rate), clock.bytes());
      } else if (what == 1) {
        link_rate = random.magnitude(kSlowestLink, 50'000'000'000);
        clock.set_link_rate(link_rate, clock.wire_free_ns() + random.between(0, 1000));
        pace.rescale(link_rate, clock.bytes());
      }
      if (pace.next() > clock.bytes()) clock.fill(pace.next() - clock.bytes(), 1538);
      const u32 wire = random.wire(1514);
      pace.charge(clock.bytes(), wire, 1538 + kShortestSlot);
      clock.send(wire);
    }
  }
}

// The timer back end: the clock follows real time and every timer is late.
TEST(ByteClockProperty, ALateTimerCostsNoRateAndMakesNoBurst) {
  Random random(6);
  for (int round = 0; round < kRounds; ++round) {
    const u64 link_rate = random.magnitude(kSlowestLink, GAP_RATE_MAX);
    const u64 rate = random.magnitude(std::max<u64>(1, link_rate / 10'000), link_rate);
    const u64 burst_ns = random.magnitude(1, kLongestBurstNs);
    const u64 burst = static_cast<u64>(static_cast<byteclock::u128>(burst_ns) * link_rate / kNsPerSecond);
    u64 now_ns = random.between(0, 1000 * kNsPerSecond);
    CheckedClock clock(link_rate, now_ns);
    CheckedPace pace(rate, link_rate, clock.bytes());
    for (int sent = 0; sent < 500; ++sent) {
      if (pace.next() > clock.bytes()) {
        now_ns = clock.wake_ns(pace.next() - clock.bytes());
        // as late as may be made up, a nanosecond less for rounding
        now_ns += random.between(0, burst_ns - 1);
        clock.follow(now_ns);
      }
      pace.charge(clock.bytes(), random.wire(1514), burst);
    }
    ASSERT_EQ(pace.lost(), 0u) << round;
  }
}

TEST(ByteClockProperty, ATimerLaterThanTheCreditLosesOnlyTheRest) {
  Random random(7);
  for (int round = 0; round < kRounds; ++round) {
    const u64 link_rate = random.magnitude(kSlowestLink, 50'000'000'000);
    const u64 rate = random.magnitude(std::max<u64>(1, link_rate / 10'000), link_rate);
    const u64 burst = random.magnitude(1, link_rate);
    u64 now_ns = 0;
    CheckedClock clock(link_rate, now_ns);
    CheckedPace pace(rate, link_rate, clock.bytes());
    for (int sent = 0; sent < 500; ++sent) {
      if (pace.next() > clock.bytes()) now_ns = clock.wake_ns(pace.next() - clock.bytes());
      now_ns += random.magnitude(1, kNsPerSecond) - 1;
      clock.follow(now_ns);
      if (pace.next() <= clock.bytes()) pace.charge(clock.bytes(), random.wire(1514), burst);
    }
  }
}

TEST(ByteClockProperty, EveryGapIsMadeOfFramesThatTheDeviceCanSend) {
  Random random(8);
  for (u32 slot_max = kShortestSlot; slot_max < 400; ++slot_max)
    for (u64 need = 1; need < 2000; ++need) CheckedClock(kBytesPerGigabit, 0).fill(need, slot_max);
  for (int round = 0; round < 10'000; ++round)
    CheckedClock(kBytesPerGigabit, 0)
        .fill(random.magnitude(1, 1'000'000), gap_wire_bytes(random_longest_frame(random)));
}

// The checks themselves can fail: a clock with a known fault is caught.
TEST(CheckedPaceTest, NoticesAScheduleThatDrifts) {
  // the promised interval of 85 bytes at a seventh is 595.000005 byte-times;
  // without remainders a million frames are five byte-times short
  gap_rate rate{};
  gap_rate_set(&rate, 17'857'143);
  u64 next = 0;
  byteclock::u128 wire = 0;
  for (int frame = 0; frame < 1'000'000; ++frame) {
    rate.rem = 0;
    gap_rate_charge(&rate, kBytesPerGigabit, next, next, 85, 0, &next);
    wire += 85;
  }
  EXPECT_NE(next, static_cast<u64>(wire * kBytesPerGigabit / rate.rate));
}

TEST(CheckedPaceTest, NoticesAFrameBeforeItIsDue) {
  CheckedPace pace(kBytesPerGigabit / 2, kBytesPerGigabit, 1000);
  EXPECT_THROW(pace.charge(999, 84, 0), byteclock::Broken);
}

}  // namespace

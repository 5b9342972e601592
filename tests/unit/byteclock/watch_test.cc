// SPDX-License-Identifier: Apache-2.0
// The watch over gap frames of kmod/gap_byteclock.h, beside devices that keep
// the wire and devices that drop gap frames.  Time is simulated in steps, so that
// a day at 1 Gbit/s takes seconds; nothing depends on real time.

#include "gap_byteclock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

namespace {

constexpr u64 kNsPerSecond = 1'000'000'000;
constexpr double kRingBytes = 64 * 1024;
constexpr u32 kBqlLimit = 64 * 1024;

struct Device {
  u64 link_rate = 125'000'000;    // bytes of wire time per second, as the driver says
  double ppm = 0;                 // by how much the wire is really faster
  double fifo_bytes = 0;          // given back by the driver, and not on the wire yet
  u64 moderation_ns = 0;          // completions are told at most so often
  double frame_bytes = 1514;      // of every frame, data and gap
  double lost_share = 0;          // of the wire's time: gap frames that are dropped
  u64 step_ns = 100'000;          // how finely it is simulated

  // Byte-times that the device takes in a step.  A gap frame that is dropped counts
  // as if the wire had carried it: the faster does the device take frames.
  double step_bytes() const {
    return static_cast<double>(link_rate) * (1 + ppm * 1e-6) / (1 - lost_share) *
           static_cast<double>(step_ns) / kNsPerSecond;
  }
};

// A qdisc that keeps the device's ring full, all the time.
class BusyPeriod {
 public:
  BusyPeriod(const Device& device, unsigned seed) : device_(device), random_(seed) {
    gap_clock_init(&clock_, device.link_rate, 1);
  }

  // Nanoseconds after which gap frames were taken for lost, or nothing.
  std::optional<u64> run(u64 for_ns, u64 flap_every_ns = 0) {
    u64 flap_ns = flap_every_ns;
    for (; now_ns_ < for_ns; now_ns_ += device_.step_ns) {
      if (step()) return now_ns_;
      if (flap_every_ns && now_ns_ > flap_ns) {
        flap();
        flap_ns = now_ns_ + flap_every_ns;
      }
    }
    return std::nullopt;
  }

  // The sender pauses until the device is empty, and the clock is tied to real time.
  void rest() {
    now_ns_ += kNsPerSecond / 1000;
    done_ = carried_ = handed_;
    const u64 before = clock_.bytes;
    gap_watch_idle(&watch_, &clock_, gap_clock_sync_idle(&clock_, now_ns_));
    // what the clock was moved by, no frame has taken
    const auto idle = static_cast<double>(clock_.bytes - before);
    carried_ += idle, handed_ += idle, done_ += idle, origin_ += idle;
  }

  double wire_bytes() const { return static_cast<double>(clock_.bytes); }

 private:
  bool step() {
    carried_ += device_.step_bytes();
    if (now_ns_ >= told_ns_ + device_.moderation_ns) {
      told_ns_ = now_ns_;
      done_ = std::min(handed_, carried_ + device_.fifo_bytes);
    }
    // the ring bridges a step, and now and then a bulk of the core's comes on top
    const double bulk = std::uniform_real_distribution<double>(0, 16 * 1024)(random_);
    handed_ = std::max(handed_, done_ + kRingBytes + device_.step_bytes() + bulk);
    clock_.bytes = static_cast<u64>(handed_);
    if (!gap_time_after(clock_.bytes, watch_.check_at)) return false;
    return gap_watch_is_ahead(&watch_, &clock_, counter(handed_), counter(done_), kBqlLimit, now_ns_);
  }

  // The driver counts frames without preamble, gap and FCS, in 32 bits.
  u32 counter(double wire) const {
    return static_cast<u32>(static_cast<u64>((wire - origin_) * device_.frame_bytes /
                                             (device_.frame_bytes + 24)));
  }

  // The carrier goes for two seconds: the ring is lost, the counters start anew.
  void flap() {
    now_ns_ += 2 * kNsPerSecond;
    carried_ = origin_ = done_ = handed_;
    gap_clock_reset(&clock_, now_ns_);
    watch_.began_ns = 0;
  }

  Device device_;
  std::mt19937 random_;
  gap_clock clock_{};
  gap_watch watch_{};
  u64 now_ns_ = 1;
  u64 told_ns_ = 0;
  double carried_ = 0;
  double handed_ = 0;
  double done_ = 0;
  double origin_ = 0;
};

constexpr u64 kHourNs = 3600 * kNsPerSecond;

TEST(GapWatch, HonestDevicesGiveNoFalseAlarmInTenMinutes) {
  for (const double ppm : {-100., 100., 400.})
    for (const double fifo_bytes : {0., 512. * 1024})
      for (const u64 moderation_ns : {u64{0}, u64{250'000}})
        for (const double frame_bytes : {60., 1514., 9014.}) {
          const Device device{125'000'000, ppm, fifo_bytes, moderation_ns, frame_bytes};
          EXPECT_EQ(BusyPeriod(device, 1).run(kHourNs / 6), std::nullopt)
              << ppm << " ppm, FIFO " << fifo_bytes << ", moderation " << moderation_ns
              << ", frames of " << frame_bytes;
        }
}

TEST(GapWatch, TheWorstHonestDeviceGivesNoFalseAlarmInADay) {
  for (const double frame_bytes : {60., 1514.}) {
    const Device device{125'000'000, 100, 512 * 1024, 250'000, frame_bytes, 0, 1'000'000};
    EXPECT_EQ(BusyPeriod(device, 2).run(24 * kHourNs), std::nullopt) << frame_bytes;
    EXPECT_EQ(BusyPeriod(device, 3).run(24 * kHourNs, 600 * kNsPerSecond), std::nullopt)
        << "with a carrier that goes every ten minutes";
  }
}

TEST(GapWatch, TenGigabitsGiveNoFalseAlarmInAnHour) {
  // 250 us of moderation are 305 KiB here
  const Device device{1'250'000'000, 100, 512 * 1024, 250'000, 1514};
  EXPECT_EQ(BusyPeriod(device, 4).run(kHourNs, 600 * kNsPerSecond), std::nullopt);
}

// A clock that has fallen behind a slow wire's, in minutes without a rest, is found at once in the
// first rest; the device has not sent the rest.
TEST(GapWatch, ARestAfterLongOnASlowWireGivesNoFalseAlarm) {
  BusyPeriod period(Device{1'250'000'000, -400}, 6);
  for (u64 second = 100; second <= 500; second += 100) {
    EXPECT_EQ(period.run(second * kNsPerSecond), std::nullopt) << second;
    period.rest();
  }
}

// Where the processor is slow, byte queue limits grow, and the core takes so much before
// the driver sees the first frame of it.
TEST(GapWatch, ABulkAsLargeAsTheQueueLimitGivesNoFalseAlarm) {
  constexpr u32 kLimit = 3'000'000;
  gap_clock clock{};
  gap_clock_init(&clock, 1'250'000'000, 1);
  gap_watch watch{};
  for (u64 bulk = 1; bulk < 100; ++bulk) {
    const u64 now_ns = 1 + bulk * kLimit * 4 / 5;  // the wire has just sent the one before
    clock.bytes = (bulk > 1 ? bulk + 1 : bulk) * kLimit;  // nothing in hand when it begins
    const auto counted = static_cast<u32>(bulk * kLimit);
    EXPECT_FALSE(gap_watch_is_ahead(&watch, &clock, counted, counted, kLimit, now_ns)) << bulk;
  }
}

// Gaps take `lost_share` of the wire's time.
TEST(GapWatch, DroppedGapFramesAreNoticedAfterABoundedNumberOfBytes) {
  for (const u64 link_rate : {u64{125'000'000}, u64{1'250'000'000}})
    for (const double lost_share : {0.9, 0.5, 0.1, 0.01, 0.002}) {
      const Device device{link_rate, 0, 0, 0, 1514, lost_share, 2'000};
      BusyPeriod period(device, 5);
      const auto noticed = period.run(kHourNs);
      ASSERT_TRUE(noticed) << lost_share;
      // slack, what the device holds, two looks' distance, and the drift that is allowed
      const double lost = lost_share * period.wire_bytes();
      const double held = 1.4 * (kRingBytes + 16 * 1024) + 3 * device.step_bytes();
      EXPECT_LT(lost, GAP_WATCH_SLACK_BYTES + held + 2 * GAP_WATCH_STEP_BYTES +
                          period.wire_bytes() / GAP_WATCH_DRIFT)
          << lost_share << " at " << link_rate;
      EXPECT_GT(lost, GAP_WATCH_SLACK_BYTES / 2.) << lost_share << " at " << link_rate;
    }
}

// A driver that resets its queue forgets what that held, and counts from 0: the clock has counted it.
TEST(GapWatch, AResetOfTheTransmitQueueGivesNoFalseAlarm) {
  constexpr u64 kStepNs = 10'000, kResetNs = 20'000'000, kCompletedBefore = 5'000'000;
  for (const u64 link_rate : {u64{125'000'000}, u64{1'250'000'000}, u64{12'500'000'000}})
    for (const u32 held : {100'000U, 700'000U, 1'000'000U, 4'000'000U}) {
      gap_clock clock{};
      gap_clock_init(&clock, link_rate, 1);
      gap_watch watch{};
      for (u64 passed_ns = 0; passed_ns < 3 * kResetNs; passed_ns += kStepNs) {
        const u64 carried = gap_clock_ns_to_bytes(&clock, passed_ns);
        const bool is_reset = passed_ns >= kResetNs;
        const u64 before = is_reset ? gap_clock_ns_to_bytes(&clock, kResetNs) : 0;
        const auto completed = static_cast<u32>(carried - before + (is_reset ? 0 : kCompletedBefore));
        const u32 holds = passed_ns == kResetNs ? 0 : held;
        clock.bytes = carried + holds + (is_reset ? held : 0);
        EXPECT_FALSE(gap_watch_is_ahead(&watch, &clock, completed + holds, completed, is_reset ? 0 : held, 1 + passed_ns))
            << held << " at " << link_rate << " after " << passed_ns;
      }
    }
}

TEST(GapWatch, NothingIsConcludedOfADriverThatCountsNothing) {
  gap_clock clock{};
  gap_clock_init(&clock, 125'000'000, 1);
  gap_watch watch{};
  for (u64 now_ns = 1; now_ns < 1'000'000; now_ns += 1000) {
    clock.bytes += 100'000;
    EXPECT_FALSE(gap_watch_is_ahead(&watch, &clock, 0, 0, 0, now_ns));
  }
}

}  // namespace

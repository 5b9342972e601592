// SPDX-License-Identifier: Apache-2.0
// The byte clock of kmod/gap_byteclock.h with everything that must hold of it,
// in exact 128-bit arithmetic that shares no line with it.  A broken promise
// is thrown as Broken.  The property tests and the fuzzer drive it.

#ifndef HEADWAY_TESTS_UNIT_BYTECLOCK_CHECKED_CLOCK_HH
#define HEADWAY_TESTS_UNIT_BYTECLOCK_CHECKED_CLOCK_HH

#include "gap_byteclock.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace byteclock {

__extension__ using i128 = __int128;
__extension__ using u128 = unsigned __int128;

constexpr u64 kNsPerSecond = 1'000'000'000;
constexpr u32 kShortestSlot = 84;

struct Broken : std::logic_error {
  using std::logic_error::logic_error;
};

inline void promise(bool kept, const char* what) {
  if (!kept) throw Broken(what);
}

// The schedule of one class.
class CheckedPace {
 public:
  CheckedPace(u64 rate, u64 link_rate, u64 now) : link_rate_(link_rate) {
    gap_rate_set(&rate_, rate);
    next_ = now;
    start_counting();
  }

  u64 rate() const { return rate_.rate; }
  u64 next() const { return next_; }
  u64 lost() const { return lost_; }

  // By how much a start now would miss the schedule of a class that has been
  // backlogged, and lost nothing, since the counting began.
  u64 lateness(u64 start) const { return start - (next_ - lost_); }

  // The class becomes backlogged after an idle time.
  void activate(u64 now) {
    const u64 before = next_;
    next_ = gap_pace_start(next_, now);
    promise(next_ >= now, "an idle class earns no credit");
    promise(next_ == std::max(before, now), "idle time is not debt");
    promise(next_ <= std::max(now, last_start_ + last_interval_),
            "a class owes the interval after its last frame at most");
    if (next_ != before) start_counting();
  }

  void set_rate(u64 rate, u64 now) {
    const u64 left = next_ > now ? next_ - now : 0;
    const u64 old = rate_.rate;
    const u64 next = next_;
    gap_rate_set(&rate_, rate);
    next_ = gap_pace_rescale(next_, now, old, rate);
    if (left)
      check_left(now, static_cast<u128>(left) * old / rate);
    else
      promise(next_ == next, "a new rate gives no credit");
    start_counting();
  }

  void rescale(u64 link_rate, u64 now) {
    const u64 left = next_ > now ? next_ - now : 0;
    const u64 next = next_;
    gap_rate_set(&rate_, rate_.rate);
    next_ = gap_pace_rescale(next_, now, link_rate, link_rate_);
    if (left)
      check_left(now, static_cast<u128>(left) * link_rate / link_rate_);
    else
      promise(next_ == next, "a new link rate gives no credit");
    link_rate_ = link_rate;
    start_counting();
  }

  // A frame of `wire` byte-times starts; the class must be due.
  void charge(u64 start, u32 wire, u64 credit_min) {
    promise(start >= next_, "the model itself sends a class before it is due");
    check_burst(start);
    const u64 before = next_;
    const u64 interval = exact_interval(wire);
    const u64 credit = std::max(interval, credit_min);
    const u64 late = start - before;

    const u64 lost = gap_rate_charge(&rate_, link_rate_, before, start, wire, credit_min, &next_);
    promise(lost == (late > credit ? late - credit : 0), "lateness beyond the credit is lost, no more");
    lost_ += lost;
    wire_ += wire;
    promise(next_ == first_ + time_of(wire_) + lost_,
            "the long-run rate has no error at all");
    promise(next_ <= start + interval, "a frame costs its interval at most");
    last_start_ = start;
    last_interval_ = interval;
    remember_burst(start, wire, credit);
  }

 private:
  // Exact sums run from here.
  void start_counting() {
    first_ = next_;
    rem_ = rate_.rem;
    wire_ = 0;
    lost_ = 0;
    earliest_.reset();
  }

  // Byte-times of the link for bytes of the class, rounded down once.
  u64 time_of(u128 wire) const {
    return static_cast<u64>((wire * link_rate_ + rem_) / rate_.rate);
  }

  u64 exact_interval(u32 wire) const { return time_of(wire_ + wire) - time_of(wire_); }

  void check_left(u64 now, u128 left) {
    promise(next_ == now + static_cast<u64>(left),
            "what is left of an interval keeps its share");
    last_start_ = now;
    last_interval_ = next_ - now;
  }

  // In any run of frames, no more than the credit of the first is made up.
  // For all earlier frames j at once: start + credit_j >= start_j + the exact
  // time of the bytes since j, less the rounding of a byte-time.
  void check_burst(u64 start) const {
    if (earliest_)
      promise(position(start) + static_cast<i128>(rate_.rate) > *earliest_,
              "no burst beyond the credit");
  }

  void remember_burst(u64 start, u32 wire, u64 credit) {
    const i128 at = position(start) + static_cast<i128>(wire) * static_cast<i128>(link_rate_) -
                    static_cast<i128>(credit) * static_cast<i128>(rate_.rate);
    earliest_ = earliest_ ? std::max(*earliest_, at) : at;
  }

  // Time minus the time of the bytes sent so far, in 1/rate byte-times.
  i128 position(u64 start) const {
    return (static_cast<i128>(start) - first_) * static_cast<i128>(rate_.rate) -
           static_cast<i128>(wire_ * link_rate_);
  }

  gap_rate rate_{};
  u64 next_ = 0;
  u64 link_rate_;
  u64 first_ = 0;  // when the frames counted in wire_ began,
  u64 rem_ = 0;    // and what earlier ones had left over
  u128 wire_ = 0;
  u64 lost_ = 0;
  u64 last_start_ = 0;
  u64 last_interval_ = 0;
  std::optional<i128> earliest_;
};

// The wire's clock.  Real time is what the caller says it is.
class CheckedClock {
 public:
  CheckedClock(u64 link_rate, u64 now_ns) { gap_clock_init(&clock_, link_rate, now_ns); }

  u64 bytes() const { return clock_.bytes; }
  u64 link_rate() const { return clock_.link_rate; }
  u64 wire_free_ns() const { return gap_clock_wire_free_ns(&clock_); }
  void send(u32 wire) { clock_.bytes += wire; }

  // The device is empty at `now_ns`.
  void tie(u64 now_ns) {
    const gap_clock before = clock_;
    const u64 free_ns = wire_free_ns();
    gap_clock_sync_idle(&clock_, now_ns);
    if (now_ns <= free_ns) {
      promise(clock_.bytes == before.bytes, "the wire is not idle before it is free");
      return;
    }
    // real time from the origin, or what was sent where that is more by a rounding
    if (clock_.bytes > before.bytes)
      check_advance(clock_.bytes - before.sync_bytes, now_ns - before.sync_ns,
                    "idle time is counted exactly");
    promise(wire_free_ns() <= now_ns && is_less_than_a_byte(now_ns - wire_free_ns()),
            "after a tie the wire is free now, less a byte-time");
    const u64 tied = clock_.bytes;
    gap_clock_sync_idle(&clock_, now_ns);
    promise(clock_.bytes == tied, "idle time is counted once");
  }

  // Real time is the clock.
  void follow(u64 now_ns) {
    const gap_clock before = clock_;
    gap_clock_sync_time(&clock_, now_ns);
    promise(clock_.bytes >= before.bytes, "the clock never runs backwards");
    if (clock_.bytes > before.bytes)
      check_advance(clock_.bytes - before.sync_bytes, now_ns - before.sync_ns,
                    "the clock is where real time is");
  }

  // When to wake for a frame due in `need` byte-times.
  u64 wake_ns(u64 need) const {
    const u64 ns = gap_clock_ns_at(&clock_, clock_.bytes + need);
    gap_clock later = clock_;
    gap_clock_sync_time(&later, ns);
    promise(later.bytes >= clock_.bytes + need, "a timer on time finds the frame due");
    later = clock_;
    gap_clock_sync_time(&later, ns - 1);
    promise(later.bytes <= clock_.bytes + need, "a timer wakes no more than a nanosecond late");
    return ns;
  }

  // A gap of `need` byte-times; returns those that frames can express.
  u64 fill(u64 need, u32 slot_max) {
    u64 filled = 0;
    // all but the last frames of a long gap are of one length: not one by one
    if (need > 100 * slot_max) {
      promise(gap_slot_bytes(need, slot_max) == slot_max, "long gaps take the longest frames");
      filled = (need / slot_max - 10) * slot_max;
    }
    while (filled < need) {
      const u32 slot = gap_slot_bytes(need - filled, slot_max);
      promise(slot >= kShortestSlot, "a gap frame is no shorter than the shortest");
      promise(slot <= slot_max, "a gap frame is no longer than the device allows");
      filled += slot;
    }
    promise(filled - need < kShortestSlot, "a gap misses by less than the shortest slot");
    if (need >= kShortestSlot && slot_max >= 2 * kShortestSlot)
      promise(filled == need, "what gap frames can express they express exactly");
    clock_.bytes += filled;
    return filled;
  }

  void set_link_rate(u64 link_rate, u64 now_ns) {
    const u64 free_ns = wire_free_ns();
    const u64 before = clock_.bytes;
    gap_clock_set_link_rate(&clock_, link_rate, now_ns);
    promise(clock_.bytes == before, "time already counted stays");
    promise(wire_free_ns() == std::max(free_ns, now_ns),
            "a new link rate moves no frame under way");
  }

 private:
  // A nanosecond more for what is rounded, and any time where the clock was cut.
  bool is_less_than_a_byte(u64 ns) const {
    return static_cast<u128>(ns - std::min<u64>(ns, 1)) * clock_.link_rate < kNsPerSecond ||
           clock_.bytes >= GAP_TIME_MAX;
  }

  void check_advance(u64 bytes, u64 ns, const char* what) const {
    const u128 exact = static_cast<u128>(ns) * clock_.link_rate;
    if (exact >= static_cast<u128>(GAP_TIME_MAX) * kNsPerSecond) {
      promise(bytes == GAP_TIME_MAX, "a time too long for the clock is cut, not wrapped");
      return;
    }
    promise(static_cast<u128>(bytes) * kNsPerSecond <= exact, what);
    promise(static_cast<u128>(bytes + 1) * kNsPerSecond > exact, what);
  }

  gap_clock clock_{};
};

}  // namespace byteclock

#endif

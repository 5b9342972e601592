// SPDX-License-Identifier: Apache-2.0
// The byte clock of sch_gap under any sequence of frames, idle times and
// changes of rates.  The input is
//   1 byte    bit 0: timer back end; the rest: length of the longest gap frame
//   8 bytes   link rate
// and then steps of one byte for what is done, one for the class it is done
// to, and eight for the number it needs; all little endian.
// What must hold is in checked_clock.hh; what is broken ends the run.

#include "checked_clock.hh"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

using byteclock::CheckedClock;
using byteclock::CheckedPace;
using byteclock::kNsPerSecond;
using byteclock::kShortestSlot;

// 64 bits count the byte-times of the fastest link for half a year.
constexpr u32 kLongestFrameBytes = 1 << 16;
constexpr u64 kHorizonSeconds = 100 * 86'400;

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  // False at the end, with `value` untouched.
  template <typename T>
  bool take(T& value) {
    if (size_ < sizeof value) return false;
    std::memcpy(&value, data_, sizeof value);
    data_ += sizeof value;
    size_ -= sizeof value;
    return true;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

u64 rate_of(u64 number) { return 1 + number % GAP_RATE_MAX; }

class Qdisc {
 public:
  Qdisc(bool timed, u32 slot_max, u64 link_rate)
      : timed_(timed),
        slot_max_(slot_max),
        clock_(link_rate, 0),
        classes_{CheckedPace(link_rate, link_rate, 0), CheckedPace(link_rate, link_rate, 0),
                 CheckedPace(link_rate, link_rate, 0)} {}

  // False when the time that 64 bits can count is over.
  bool step(uint8_t what, uint8_t which, u64 number) {
    CheckedPace& pace = classes_[which % classes_.size()];
    switch (what % 5) {
      case 0:
      case 1:
        return send(pace, number);
      case 2:
        return idle(pace, number);
      case 3:
        pace.set_rate(rate_of(number), clock_.bytes());
        return true;
      default:
        change_link_rate(rate_of(number));
        return true;
    }
  }

 private:
  // The next frame of a class, as soon as it is due.
  bool send(CheckedPace& pace, u64 number) {
    const u32 wire = gap_wire_bytes(static_cast<u32>(number % (kLongestFrameBytes + 1)));
    const u64 late_ns = number >> 32;
    if (!wait(pace, late_ns)) return false;
    if (timed_) {
      pace.charge(clock_.bytes(), wire, number % clock_.link_rate());
    } else {
      pace.charge(clock_.bytes(), wire, slot_max_ + kShortestSlot);
      clock_.send(wire);
    }
    return spend(wire / clock_.link_rate());
  }

  bool wait(const CheckedPace& pace, u64 late_ns) {
    if (pace.next() <= clock_.bytes()) return true;
    const u64 need = pace.next() - clock_.bytes();
    if (!spend(need / clock_.link_rate() + late_ns / kNsPerSecond)) return false;
    if (!timed_) {
      clock_.fill(need, slot_max_);
      return true;
    }
    now_ns_ = clock_.wake_ns(need) + late_ns;
    clock_.follow(now_ns_);
    return true;
  }

  bool idle(CheckedPace& pace, u64 number) {
    const u64 ns = number % (kHorizonSeconds * kNsPerSecond);
    if (!spend(ns / kNsPerSecond)) return false;
    if (timed_) {
      now_ns_ += ns;
      clock_.follow(now_ns_);
    } else {
      clock_.tie(clock_.wire_free_ns() + ns);
    }
    pace.activate(clock_.bytes());
    return true;
  }

  void change_link_rate(u64 link_rate) {
    clock_.set_link_rate(link_rate, timed_ ? now_ns_ : clock_.wire_free_ns());
    for (CheckedPace& pace : classes_) pace.rescale(link_rate, clock_.bytes());
  }

  // A second more for what is rounded.
  bool spend(u64 seconds) {
    const u64 left = kHorizonSeconds - spent_seconds_;
    if (seconds >= left) return false;
    spent_seconds_ += seconds + 1;
    return true;
  }

  bool timed_;
  u32 slot_max_;
  CheckedClock clock_;
  std::array<CheckedPace, 3> classes_;
  u64 now_ns_ = 0;
  u64 spent_seconds_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  uint8_t kind = 0;
  u64 link_rate = 0;
  if (!input.take(kind) || !input.take(link_rate)) return 0;
  Qdisc qdisc(kind & 1, kShortestSlot + (kind >> 1) * 80, rate_of(link_rate));
  uint8_t what = 0, which = 0;
  u64 number = 0;
  while (input.take(what) && input.take(which) && input.take(number))
    if (!qdisc.step(what, which, number)) break;
  return 0;
}

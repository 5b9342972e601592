// SPDX-License-Identifier: MIT
// When a process that paces by itself may send its next piece towards a cluster.
//
// Each piece takes as long as its bytes take on the wire at the process's rate, and the next one is
// due after that.  A process that is late sends at once, and makes up for no more than one piece:
// two of them follow each other then, and never a burst.
#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace headway::glue {

/// A process that has to wait for less does not give its processor away.
inline constexpr std::chrono::microseconds shortest_pause{3};

class SendClock {
public:
    using Clock = std::chrono::steady_clock;

    SendClock() = default;
    /// `wire_bytes_per_s`: 0: no limit.
    SendClock(std::uint64_t wire_bytes_per_s, Clock::time_point begin)
        : ns_per_byte_(wire_bytes_per_s > 0 ? 1e9 / static_cast<double>(wire_bytes_per_s) : 0),
          due_(begin) {}

    [[nodiscard]] Clock::time_point due() const { return due_; }

    [[nodiscard]] std::chrono::nanoseconds time_of(std::uint64_t wire_bytes) const {
        return std::chrono::nanoseconds(
            static_cast<std::int64_t>(ns_per_byte_ * static_cast<double>(wire_bytes)));
    }

    /// A piece of so many bytes on the wire leaves.
    void send(std::uint64_t wire_bytes, Clock::time_point now) {
        const auto takes = time_of(wire_bytes);
        due_ = std::max(due_, now - takes) + takes;
    }

private:
    double ns_per_byte_ = 0;
    Clock::time_point due_;
};

/// Of this thread, that pauses end when they are to, and not up to 50 us later.  No right is needed
/// for it.
class ExactPauses {
public:
    ExactPauses() : before_ns_(::prctl(PR_GET_TIMERSLACK)) { ::prctl(PR_SET_TIMERSLACK, 1UL); }
    ExactPauses(const ExactPauses&) = delete;
    ExactPauses& operator=(const ExactPauses&) = delete;
    ~ExactPauses() {
        if (before_ns_ > 0) ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_ns_));
    }

private:
    int before_ns_;
};

}  // namespace headway::glue

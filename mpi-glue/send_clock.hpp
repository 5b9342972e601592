// SPDX-License-Identifier: MIT
// When a rank that paces by itself may send its next piece towards a cluster.
//
// Each piece takes as long as its bytes take on the wire at the rank's rate, and the next one is due after
// that.  A rank that is late sends at once, and makes up for no more than one piece: two of them follow each
// other then, and never a burst.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace headway::glue {

class SendClock {
public:
    using Clock = std::chrono::steady_clock;

    SendClock() = default;
    /// `wire_bytes_per_s`: 0: no limit.
    SendClock(std::uint64_t wire_bytes_per_s, Clock::time_point begin)
        : ns_per_byte_(wire_bytes_per_s > 0 ? 1e9 / static_cast<double>(wire_bytes_per_s) : 0), due_(begin) {}

    [[nodiscard]] Clock::time_point due() const { return due_; }

    /// A piece of so many bytes on the wire leaves.
    void send(std::uint64_t wire_bytes, Clock::time_point now) {
        const auto takes = std::chrono::nanoseconds(
            static_cast<std::int64_t>(ns_per_byte_ * static_cast<double>(wire_bytes)));
        due_ = std::max(due_, now - takes) + takes;
    }

private:
    double ns_per_byte_ = 0;
    Clock::time_point due_;
};

}  // namespace headway::glue

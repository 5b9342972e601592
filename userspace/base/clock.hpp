// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace headway {

/// Time since some fixed moment; never runs backwards.  Tests bring their own.
class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual std::chrono::nanoseconds now() const = 0;
};

class SteadyClock final : public Clock {
public:
    [[nodiscard]] std::chrono::nanoseconds now() const override {
        return std::chrono::steady_clock::now().time_since_epoch();
    }
};

inline const SteadyClock steady_clock;

/// How long to wait after each failure in a row: from 100 ms, twice as long each time, to 10 s.
class RetryPause {
public:
    [[nodiscard]] std::chrono::nanoseconds next() {
        const std::chrono::nanoseconds pause = pause_;
        pause_ = std::min(pause_ * 2, longest);
        return pause;
    }
    void reset() { pause_ = first; }

private:
    static constexpr std::chrono::nanoseconds first{100'000'000}, longest{10'000'000'000};
    std::chrono::nanoseconds pause_ = first;
};

}  // namespace headway

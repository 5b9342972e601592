// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"

namespace headway::test {

/// Stands still unless a test moves it.  It is a century ahead, so that no timer of an event
/// loop, which runs by the real time, ever comes to a moment of this clock by itself.
class FakeClock final : public Clock {
public:
    [[nodiscard]] std::chrono::nanoseconds now() const override { return now_; }
    void advance(std::chrono::nanoseconds by) { now_ += by; }

private:
    std::chrono::nanoseconds now_ = std::chrono::hours(24 * 36525);
};

}  // namespace headway::test

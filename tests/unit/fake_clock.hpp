// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"

namespace headway::test {

/// Stands still unless a test moves it.  It starts at the real time, because
/// an event loop's timers run by that.
class FakeClock final : public Clock {
public:
    [[nodiscard]] std::chrono::nanoseconds now() const override { return now_; }
    void advance(std::chrono::nanoseconds by) { now_ += by; }

private:
    std::chrono::nanoseconds now_ = SteadyClock().now();
};

}  // namespace headway::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace headway {

/// Time since some fixed moment; never runs backwards.  Tests bring their own.
class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual std::chrono::nanoseconds now() const = 0;

protected:
    Clock() = default;
    Clock(const Clock&) = default;
    Clock& operator=(const Clock&) = default;
};

class SteadyClock final : public Clock {
public:
    [[nodiscard]] std::chrono::nanoseconds now() const override {
        return std::chrono::steady_clock::now().time_since_epoch();
    }
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// The two classes of a host, as sch_gap treats them: see gap_packet.c.  Times are
// the simulation's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace headway::test {

class FakeGuardedClass {
public:
    using Time = std::chrono::nanoseconds;

    /// Nothing is sent before the classes are set up.
    void boot() { is_set_up_ = false; }
    /// A daemon that finds the classes gives the guard the fallback of its settings.
    void set_up(std::uint64_t fallback) {
        fallback_ = fallback;
        if (is_set_up_) return;
        is_set_up_ = true;
        cap_ = fallback;
        guard_until_ = Time::min();
    }

    void set_cap(std::uint64_t rate) { cap_ = rate; }
    /// An empty request does not bring back a class that has expired.
    void refresh(Time now, Time expires) {
        if (guard_lives(now)) guard_until_ = now + expires;
    }
    void revive(Time now, Time expires) { guard_until_ = now + expires; }

    [[nodiscard]] Time guard_until() const { return guard_until_; }
    [[nodiscard]] std::uint64_t in_force(Time now) const {
        if (!is_set_up_) return 0;
        return guard_lives(now) ? cap_ : std::min(cap_, fallback_);
    }

private:
    [[nodiscard]] bool guard_lives(Time now) const { return now < guard_until_; }

    bool is_set_up_ = false;
    std::uint64_t fallback_ = 0;
    std::uint64_t cap_ = 0;
    Time guard_until_ = Time::min();
};

}  // namespace headway::test

// SPDX-License-Identifier: Apache-2.0
// How much of the daemon's time a user's requests have taken: who asks for too much is
// served after all others, so that they do not wait for him.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>

namespace headway {

class UserTime {
public:
    using Time = std::chrono::nanoseconds;
    /// So much at once, and then a quarter of all time.
    static constexpr Time at_once = std::chrono::milliseconds(100);
    static constexpr int share = 4;

    /// A request of the user has taken so long.  Until when his next ones come after those
    /// of others; none: they are served in turn.  Root's always are.
    std::optional<Time> charge(uid_t user, Time took, Time now) {
        if (user == 0 || took == Time::zero()) return std::nullopt;
        Time& paid = paid_until_[user];
        paid = std::max(paid, now) + took * share;
        std::erase_if(paid_until_, [now](const auto& one) { return one.second < now; });
        const Time until = paid_until_.contains(user) ? paid_until_.at(user) - at_once * share : now;
        return until > now ? std::optional(until) : std::nullopt;
    }

private:
    std::map<uid_t, Time> paid_until_;
};

}  // namespace headway

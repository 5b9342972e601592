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

    /// A request of the user has taken so long.  True if his next ones come after those of
    /// others.  Root's never do.
    bool charge(uid_t user, Time took, Time now) {
        if (user == 0 || took == Time::zero()) return false;
        Time& paid = paid_until_[user];
        paid = std::max(paid, now) + took * share;
        std::erase_if(paid_until_, [now](const auto& one) { return one.second < now; });
        return waits_until(user, now).has_value();
    }
    /// None: the user's requests are served in turn.
    [[nodiscard]] std::optional<Time> waits_until(uid_t user, Time now) const {
        const auto paid = paid_until_.find(user);
        if (paid == paid_until_.end() || paid->second - at_once * share <= now) return std::nullopt;
        return paid->second - at_once * share;
    }

private:
    std::map<uid_t, Time> paid_until_;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// How much of something that the daemon has a limited amount of one user may take.
//
// The rule is dbus-broker's (src/util/user.c): what a user has may grow to what would then be
// left for one more user.  So the first may have a half, the second a third of the rest, and
// so on: no number of users takes everything, and there is no limit of its own for each user.
// A reserve is left to administrators, whom only the whole amount limits.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>

#include "base/error.hpp"

namespace headway {

class Quota {
public:
    struct Amount {
        std::size_t all = 0;
        std::size_t reserve = 0;  ///< of `all`, for administrators
        std::size_t times = 1;    ///< a user may have so many times what is left for one more
    };

    /// `what` there is, in plural: "clients".
    Quota(const char* what, const Amount& amount) : what_(what), amount_(amount) {}

    /// Fails, with nothing taken, if the user would have too much.  0 stands for all
    /// administrators.
    [[nodiscard]] Result<void> take(uid_t user, std::size_t amount = 1) {
        if (auto may = may_take(user, amount); !may) return may;
        add(user, amount);
        return {};
    }
    /// Takes what the user had in an earlier run, in any order of users.  False: too little is
    /// left.
    [[nodiscard]] bool take_again(uid_t user, std::size_t amount) {
        if (amount > amount_.all - taken_) return false;
        add(user, amount);
        return true;
    }
    [[nodiscard]] Result<void> may_take(uid_t user, std::size_t amount = 1) const {
        if (amount == 0 || of(user) + amount <= most_of(user)) return {};
        if (user == 0) return failure("there are {} {} already, and there may be no more", taken_, what_);
        return failure("user {} has {} {}, and may have no more beside those of others", user, of(user),
                       what_);
    }
    void give_back(uid_t user, std::size_t amount = 1) {
        const auto found = of_user_.find(user);
        if (found == of_user_.end() || amount == 0) return;
        found->second -= amount;
        taken_ -= amount;
        if (found->second == 0) of_user_.erase(found);
    }

    [[nodiscard]] std::size_t of(uid_t user) const {
        const auto found = of_user_.find(user);
        return found == of_user_.end() ? 0 : found->second;
    }
    /// Including what the user has.
    [[nodiscard]] std::size_t most_of(uid_t user) const {
        const std::size_t left = amount_.all - taken_;
        if (user == 0) return of(user) + left;
        const std::size_t administrators = of(0);
        const std::size_t reserved = amount_.reserve > administrators ? amount_.reserve - administrators : 0;
        const std::size_t users = of_user_.size() - of_user_.contains(0) + !of_user_.contains(user);
        const std::size_t share = of(user) + (left > reserved ? left - reserved : 0);
        return share * amount_.times / (amount_.times + users);
    }

private:
    void add(uid_t user, std::size_t amount) {
        if (amount == 0) return;
        of_user_[user] += amount;
        taken_ += amount;
    }

    const char* what_;
    Amount amount_;
    std::map<uid_t, std::size_t> of_user_;  ///< none has 0
    std::size_t taken_ = 0;
};

}  // namespace headway

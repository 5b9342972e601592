// SPDX-License-Identifier: MIT
#include "start_agreement.hpp"

#include <algorithm>
#include <thread>

namespace headway::glue {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* met = "met";
constexpr const char* left = "left";
constexpr const char* outcome = "outcome";
constexpr const char* yes = "yes";
constexpr const char* no = "no";

std::string here(int rank) { return "here." + std::to_string(rank); }

/// Between two look-ups: short at first, then so long that the launcher, which answers
/// those of all ranks, has no more than some ten thousand of them in a second.
class Pause {
public:
    explicit Pause(int ranks)
        : longest_(std::max(std::chrono::microseconds(5000), std::chrono::microseconds(ranks) * 50)) {}

    void take() {
        std::this_thread::sleep_for(next_);
        next_ = std::min(2 * next_, longest_);
    }

private:
    std::chrono::microseconds longest_;
    std::chrono::microseconds next_{200};
};

/// None: it was not there before `deadline`.
std::optional<std::string> wait_for(LaunchNames& names, const std::string& name, int ranks,
                                    Clock::time_point deadline) {
    Pause pause(ranks);
    while (true) {
        if (auto value = names.lookup(name)) return value;
        if (Clock::now() >= deadline) return std::nullopt;
        pause.take();
    }
}

StartOutcome not_all(std::string reason, bool told_by_rank0) {
    return {false, std::move(reason), told_by_rank0};
}

/// A quarter more than rank 0 has, from which they mostly learn what it has found.
std::chrono::milliseconds patience_of_followers(std::chrono::milliseconds limit) {
    return limit * 5 / 4;
}

std::string not_in_time(int rank, std::chrono::milliseconds limit) {
    return "rank " + std::to_string(rank) + " did not say within " + std::to_string(limit.count()) +
           " ms that it has this library, which all ranks must have";
}

/// Who has left may have learned the outcome after all, and then says nothing.
std::string came_late(std::chrono::milliseconds limit) {
    return "rank 0 began its first collective more than " +
           std::to_string(patience_of_followers(limit).count()) + " ms after another rank";
}

/// The reason why not all ranks take part; "": all do.
std::string look_for_all(LaunchNames& names, const Participant& self) {
    const auto deadline = Clock::now() + self.limit;
    for (int rank = 1; rank < self.ranks; ++rank) {
        const auto version = wait_for(names, here(rank), 1, deadline);
        if (!version) return not_in_time(rank, self.limit);
        if (*version != self.version)
            return "rank " + std::to_string(rank) + " has another version of this library, or other HEADWAY_ variables: " +
                   *version + ", and rank 0 " + self.version;
    }
    return "";
}

StartOutcome decide(LaunchNames& names, const Participant& self) {
    const std::string missing = look_for_all(names, self);
    if (!missing.empty()) {
        // who does not see it comes to the same when its own time is over
        (void)names.publish(outcome, no);
        return not_all(missing, true);
    }
    if (!names.publish(met, yes)) return not_all("the launcher keeps no names", true);
    const bool has_anybody_left = names.lookup(left).has_value();
    const bool is_published = names.publish(outcome, has_anybody_left ? no : yes);
    if (has_anybody_left) return not_all(came_late(self.limit), true);
    if (!is_published) return not_all("the launcher keeps no names", true);
    return {true, "", false};
}

StartOutcome follow(LaunchNames& names, const Participant& self) {
    const auto limit = patience_of_followers(self.limit);
    const auto deadline = Clock::now() + limit;
    if (!names.publish(here(self.rank), self.version))
        return not_all("the launcher keeps no names", false);
    auto decided = wait_for(names, outcome, self.ranks, deadline);
    if (!decided) {
        // another may have published it before; a launcher that takes no names any more
        // takes none of rank 0's, either
        (void)names.publish(left, yes);
        if (!names.lookup(met)) return not_all(not_in_time(0, limit), false);
        decided = wait_for(names, outcome, self.ranks, Clock::time_point::max());
    }
    if (*decided == yes) return {true, "", false};
    return not_all("", true);
}

}  // namespace

StartOutcome agree_on_start(LaunchNames& names, const Participant& participant) {
    return participant.rank == 0 ? decide(names, participant) : follow(names, participant);
}

}  // namespace headway::glue

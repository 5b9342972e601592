// SPDX-License-Identifier: MIT
#include "start_agreement.hpp"

#include <algorithm>
#include <thread>

namespace headway::glue {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* begun = "begun";
constexpr const char* here = "here";  ///< its value: the rank's version, or
constexpr const char* left = "left";
constexpr const char* outcome = "outcome";
constexpr const char* yes = "yes";
constexpr const char* no = "no";

/// Between two look-ups: short at first, then so long that the launcher, which answers
/// those of all ranks, has no more than some ten thousand of them in a second.
class Pause {
public:
    explicit Pause(int waiting)
        : longest_(std::max(std::chrono::microseconds(5000), std::chrono::microseconds(waiting) * 50)) {}

    void take() {
        std::this_thread::sleep_for(next_);
        next_ = std::min(2 * next_, longest_);
    }

private:
    std::chrono::microseconds longest_;
    std::chrono::microseconds next_{200};
};

/// `name` of `rank`, which so many wait for; none: it was not there before `deadline`.
std::optional<std::string> wait_for(LaunchNames& names, int rank, const std::string& name,
                                    int waiting, Clock::time_point deadline) {
    Pause pause(waiting);
    while (true) {
        if (auto value = names.lookup(rank, name)) return value;
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

std::string came_late(std::chrono::milliseconds limit) {
    return "rank 0 began its first collective more than " +
           std::to_string(patience_of_followers(limit).count()) + " ms after another rank";
}

/// The reason why not all ranks take part; "": all do.
std::string look_for_all(LaunchNames& names, const Participant& self) {
    const auto deadline = Clock::now() + self.limit;
    for (int rank = 1; rank < self.ranks; ++rank) {
        const auto version = wait_for(names, rank, here, 1, deadline);
        if (!version) return not_in_time(rank, self.limit);
        if (*version == left) return came_late(self.limit);
        if (*version != self.version)
            return "rank " + std::to_string(rank) + " has another version of this library, or other HEADWAY_ variables: " +
                   *version + ", and rank 0 " + self.version;
    }
    return "";
}

StartOutcome decide(LaunchNames& names, const Participant& self) {
    if (!names.publish(begun, yes)) return not_all("the launcher keeps no names", true);
    const std::string missing = look_for_all(names, self);
    const bool is_published = names.publish(outcome, missing.empty() ? yes : no);
    if (!missing.empty()) return not_all(missing, true);
    if (!is_published) return not_all("the launcher keeps no names", true);
    return {true, "", false};
}

StartOutcome follow(LaunchNames& names, const Participant& self) {
    const auto limit = patience_of_followers(self.limit);
    const auto deadline = Clock::now() + limit;
    if (!wait_for(names, 0, begun, self.ranks, deadline)) {
        (void)names.publish(here, left);
        return not_all(not_in_time(0, limit), false);
    }
    // What a launcher refuses it may have kept all the same, and then rank 0 has seen it.
    const bool is_published = names.publish(here, self.version);
    // rank 0 is about to tell: waiting on, no delay makes this rank decide otherwise
    const auto decided = wait_for(names, 0, outcome, self.ranks,
                                  is_published ? Clock::time_point::max() : Clock::now() + limit);
    if (!decided) return not_all("the launcher keeps no names", false);
    if (*decided == yes) return {true, "", false};
    return not_all("", true);
}

}  // namespace

StartOutcome agree_on_start(LaunchNames& names, const Participant& participant) {
    return participant.rank == 0 ? decide(names, participant) : follow(names, participant);
}

}  // namespace headway::glue

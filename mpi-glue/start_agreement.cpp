// SPDX-License-Identifier: MIT
#include "start_agreement.hpp"

#include <algorithm>
#include <new>

#include "short_memory.hpp"

namespace headway::glue {
namespace {

using Clock = WaitingTime::Clock;

constexpr const char* begun = "begun";
constexpr const char* here = "here";  ///< its value: the rank's version, or
constexpr const char* left = "left";
constexpr const char* outcome = "outcome";
constexpr const char* yes = "yes";
constexpr const char* no = "no";

/// A name that another rank publishes, and until when this one waits for it.
struct Awaited {
    int rank = 0;
    const char* name = nullptr;
    int waiting = 1;  ///< so many ranks look for it
    Clock::time_point deadline;
};

/// Waits for a name; none: it was not there at the deadline.
std::optional<std::string> wait_for(LaunchNames& names, const WaitingTime& time, const Awaited& awaited) {
    // Between two look-ups: short at first, then so long that the launcher, which answers
    // those of all ranks, has no more than some ten thousand of them in a second.
    Clock::duration pause = std::chrono::microseconds(200);
    const Clock::duration longest = std::max(100, awaited.waiting) * std::chrono::microseconds(50);
    while (true) {
        try {
            if (auto value = names.lookup(awaited.rank, awaited.name)) return value;
        } catch (const std::bad_alloc&) {
            // It is looked for again: a rank that goes would leave the others waiting.
        }
        const auto now = time.now();
        if (now >= awaited.deadline) return std::nullopt;
        time.sleep(std::min(pause, awaited.deadline - now));
        pause = std::min(2 * pause, longest);
    }
}

/// A rank without the memory for it does as if the launcher had refused.
bool publish(LaunchNames& names, const char* name, const std::string& value) {
    bool is_published = false;
    (void)has_memory_for([&] { is_published = at_second_try([&] { return names.publish(name, value); }); });
    return is_published;
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
std::string look_for_all(LaunchNames& names, const Participant& self, const WaitingTime& time) {
    const auto deadline = time.now() + self.limit;
    for (int rank = 1; rank < self.ranks; ++rank) {
        const auto version = wait_for(names, time, {rank, here, 1, deadline});
        if (!version) return not_in_time(rank, self.limit);
        if (*version == left) return came_late(self.limit);
        if (*version != self.version)
            return "rank " + std::to_string(rank) + " has another version of this library, or other HEADWAY_ variables: " +
                   *version + ", and rank 0 " + self.version;
    }
    return "";
}

StartOutcome decide(LaunchNames& names, const Participant& self, const WaitingTime& time) {
    if (!publish(names, begun, yes)) return not_all("the launcher keeps no names", true);
    std::string missing = "no memory";  // which needs none
    (void)has_memory_for([&] { missing = look_for_all(names, self, time); });
    const bool is_published = publish(names, outcome, missing.empty() ? yes : no);
    if (!missing.empty()) return not_all(missing, true);
    if (!is_published) return not_all("the launcher keeps no names", true);
    return {true, "", false};
}

StartOutcome follow(LaunchNames& names, const Participant& self, const WaitingTime& time) {
    const auto limit = patience_of_followers(self.limit);
    if (!wait_for(names, time, {0, begun, self.ranks, time.now() + limit})) {
        (void)publish(names, here, left);
        return not_all(not_in_time(0, limit), false);
    }
    // A launcher may have kept what it refused, and then rank 0 has seen it.
    const bool is_published = publish(names, here, self.version);
    // rank 0 is about to tell: waiting on, no delay makes this rank decide otherwise
    const auto deadline = is_published ? Clock::time_point::max() : time.now() + limit;
    const auto decided = wait_for(names, time, {0, outcome, self.ranks, deadline});
    if (!decided) return not_all("the launcher keeps no names", false);
    if (*decided == yes) return {true, "", false};
    return not_all("", true);
}

}  // namespace

StartOutcome agree_on_start(LaunchNames& names, const Participant& participant, const WaitingTime& time) {
    return participant.rank == 0 ? decide(names, participant, time) : follow(names, participant, time);
}

}  // namespace headway::glue

// SPDX-License-Identifier: MIT
#include "all_ranks.hpp"

#include <algorithm>
#include <utility>

#include "launch_names.hpp"
#include "short_memory.hpp"

namespace headway::glue {
namespace {

/// A rank waits for the others for so long before it goes on without them.
constexpr std::chrono::milliseconds meeting_limit{2000};

}  // namespace

AllRanks meet_all_ranks(const Settings& settings, int rank, int ranks) {
    if (settings.all_ranks || ranks < 2) return {{true, "", false}, ""};
    const auto names = at_second_try(open_launch_names);
    if (!names) {
        return {{false,
                 "the launcher cannot tell whether all ranks have this library (" + names.error() +
                     "); HEADWAY_ALL_RANKS=on promises that they have",
                 true},
                ""};
    }
    const auto limit = std::max(meeting_limit, settings.timeout);
    std::string job = (*names)->job();  // nothing may fail once the others have been told that this rank takes part
    return {agree_on_start(**names, {rank, ranks, agreed_version(settings), limit}), std::move(job)};
}

}  // namespace headway::glue

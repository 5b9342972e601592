// SPDX-License-Identifier: MIT
// Do all ranks of the job have this library, in this version and with the same
// settings?  Asked before the library's first collective over MPI_COMM_WORLD, which
// a rank that does not take part would make wait for ever.
//
// The ranks talk through names that the launcher keeps (launch_names.hpp).  Each name is
// published by one rank, once:
//
//   rank 0 publishes "begun", and looks for "here" of all others;
//   another rank looks for "begun", publishes "here", and waits for rank 0's "outcome",
//   which rank 0 publishes whatever it has found: yes if it has seen all of them;
//   a rank that has not seen "begun" when its time is over publishes that it has left,
//   as its "here", and goes.
//
// So all come to the same result whatever is late and by how much: the outcome is yes only
// if every rank has published "here", and who has done so waits for the outcome.  Rank 0
// waits for the limit, which holds for the others, too, once it has begun; for its
// beginning they wait a quarter longer, so that mostly it tells what it has found.
// Besides, there are only the look-ups.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace headway::glue {

/// All ranks of the job can look up what one rank publishes, as of that rank, from the moment at
/// which publish() has returned true.  Names of other jobs are others.
class LaunchNames {
public:
    explicit LaunchNames(std::string job) : job_(std::move(job)) {}
    LaunchNames(const LaunchNames&) = delete;
    LaunchNames& operator=(const LaunchNames&) = delete;
    virtual ~LaunchNames() = default;

    [[nodiscard]] virtual bool publish(const std::string& name, const std::string& value) = 0;
    [[nodiscard]] virtual std::optional<std::string> lookup(int rank, const std::string& name) = 0;

    /// A name that is equal at all ranks of the job, and of no other job.
    [[nodiscard]] const std::string& job() const { return job_; }

private:
    std::string job_;
};

/// A rank that asks.
struct Participant {
    int rank = 0;
    int ranks = 1;
    std::string version;  ///< without blanks; all must have the same
    std::chrono::milliseconds limit{};
};

struct StartOutcome {
    bool all_take_part = false;
    std::string reason;        ///< else, for people; "": others have told
    bool told_by_rank0 = false;  ///< and rank 0 tells the reason
};

/// The time in which a rank waits; a test has one of its own.
struct WaitingTime {
    using Clock = std::chrono::steady_clock;

    std::function<Clock::time_point()> now = Clock::now;
    std::function<void(Clock::duration)> sleep = [](Clock::duration pause) { std::this_thread::sleep_for(pause); };
};

[[nodiscard]] StartOutcome agree_on_start(LaunchNames& names, const Participant& participant,
                                          const WaitingTime& time = {});

}  // namespace headway::glue

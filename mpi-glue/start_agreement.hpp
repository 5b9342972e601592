// SPDX-License-Identifier: MIT
// Do all ranks of the job have this library, in this version and with the same
// settings?  Asked before the library's first collective over MPI_COMM_WORLD, which
// a rank that does not take part would make wait for ever.
//
// The ranks talk through names that the launcher keeps (launch_names.hpp):
//
//   each rank but 0 publishes "here.RANK", and waits for rank 0's "outcome";
//   rank 0 looks for all of these; when it has seen them it publishes "met", looks
//   for "left", and publishes the outcome, which is yes if nobody has left;
//   a rank whose time is over publishes "left", and looks for "met".  Where that is
//   not there, the rank goes: rank 0, which publishes "met" before it looks for
//   "left", is then bound to find "left".  Where it is there, rank 0 knows that
//   everybody is here and is about to publish the outcome, and the rank waits for it.
//
// So all come to the same result whatever is late and by how much.  Rank 0 waits for the
// limit, others for a quarter longer, so that they mostly learn from it what it has found;
// besides, there are only the look-ups.  Each name is written
// once, or always says the same: a store that keeps the first value and one that keeps
// the last will both do.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace headway::glue {

/// What one rank publishes all ranks of the job can look up, from the moment at which
/// publish() has returned true.  Names of other jobs are others.
class LaunchNames {
public:
    explicit LaunchNames(std::string job) : job_(std::move(job)) {}
    LaunchNames(const LaunchNames&) = delete;
    LaunchNames& operator=(const LaunchNames&) = delete;
    virtual ~LaunchNames() = default;

    [[nodiscard]] virtual bool publish(const std::string& name, const std::string& value) = 0;
    [[nodiscard]] virtual std::optional<std::string> lookup(const std::string& name) = 0;

    /// The same at all ranks of the job, and of no other job.
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

[[nodiscard]] StartOutcome agree_on_start(LaunchNames& names, const Participant& participant);

}  // namespace headway::glue

// SPDX-License-Identifier: Apache-2.0
// What the daemon's next run has to find: the jobs that were started by command, and whether
// pacing is off.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "jobs/job_table.hpp"

namespace headway {

/// `headway off`: that an administrator has switched pacing off on this node.
struct PacingOff {
    std::uint64_t since_unix_s = 0;
    uid_t uid = 0;  ///< who asked for it
};

/// Writes it as answers and the state file have it.
[[nodiscard]] Json off_json(const PacingOff& off);
/// Any text means that pacing is off: a damaged file must not switch it on.
[[nodiscard]] PacingOff parse_off(std::string_view text);

class KeptState {
public:
    /// The writer of started jobs as text, for JobTable::restore() of a later run.
    using KeepJobs = std::function<void(const std::string&)>;
    /// The writer of each switch, which also sees to it that a pass of the reconciler follows.
    using KeepOff = std::function<Result<void>(const std::optional<PacingOff>&)>;
    void keep_jobs_with(KeepJobs keep) { keep_jobs_ = std::move(keep); }
    void keep_off_with(KeepOff keep) { keep_off_ = std::move(keep); }

    /// Writes the started jobs if they have changed since they were written, or read.
    void keep_jobs(const JobTable& jobs);
    /// They are as an earlier run has written them.
    void were_read(const JobTable& jobs) { kept_changes_ = jobs.started_changes(); }

    /// None: pacing is on.
    [[nodiscard]] const std::optional<PacingOff>& off() const { return off_; }
    void set_off(const std::optional<PacingOff>& off) { off_ = off; }
    [[nodiscard]] Result<void> keep_off() const;

private:
    KeepJobs keep_jobs_;
    KeepOff keep_off_;
    std::uint64_t kept_changes_ = 0;
    std::optional<PacingOff> off_;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// The jobs that a node knows: those whose processes say so on the control socket,
// and those that were started by command (`headway job start`).
//
// A job is a name and a user.  One that was not started by command begins with
// the first connection that names it, and ends with the last.  One that was ends
// by command, or with its last process if it ever had one; a lasting one by
// command only.
//
// A job counts when links are shared as soon as its hosts are known: told when it
// was started, or named by a process that asks for a plan.
//
// A batch system's allocation has several names: its number, by which its prolog
// starts it, and NUMBER.STEP for whatever runs in it.  All that are the same user's
// count once, with one weight, which those share that have something to send.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/protocol.hpp"
#include "jobs/job_shares.hpp"
#include "trunk/shared_trunk.hpp"

namespace headway {

using JobId = std::uint64_t;

struct KnownJob {
    uid_t user = 0;
    std::string name;
    std::optional<StartJobRequest> started;  ///< what the command said
    std::optional<HostSet> hosts;            ///< none: not known
    std::size_t processes = 0;               ///< connections that named it
    bool had_processes = false;
    std::uint64_t told_start = 0;            ///< as the first process told that told any; 0: none did
    std::vector<LinkPart> parts;             ///< by class of the layout; empty: all of it

    [[nodiscard]] std::uint32_t weight() const { return started ? started->weight : 1; }
    /// Of a started job what the command says, which is also said on nodes without processes.
    [[nodiscard]] std::uint64_t start() const { return started ? started->start : told_start; }
};

/// The number of the batch system's allocation that a job of this name is of, or the
/// whole name if it is of none.
[[nodiscard]] std::string_view allocation_of(std::string_view name);

/// A job that counts when links are shared.
struct CountingJob {
    JobId id = 0;
    std::size_t allocation = 0;  ///< jobs with the same number are of one allocation
    std::uint32_t weight = 1;    ///< the allocation's
};

class JobTable {
public:
    /// The job of that name, which begins if there is none; one more process.
    JobId attach(uid_t user, const std::string& name);
    /// One process less.  True if the job has ended with it.
    bool detach(JobId id);

    /// By command; one that is known already is what the request says from now on.
    /// Fails if there are too many.
    [[nodiscard]] Result<JobId> start(uid_t user, const StartJobRequest& request);
    /// By command: one that has processes goes on as if it had not been started.
    /// True if it has ended.
    bool end(JobId id);

    /// Hosts that are known to be the job's, besides those known before.  True if
    /// there are any new.
    bool learn(JobId id, const HostSet& hosts);
    /// Back to what was known before.
    void set_hosts(JobId id, std::optional<HostSet> hosts) { jobs_.at(id).hosts = std::move(hosts); }
    /// A process says it; the first that says any is believed.
    void tell_start(JobId id, std::uint64_t start);
    void set_parts(JobId id, std::vector<LinkPart> parts) { jobs_.at(id).parts = std::move(parts); }

    [[nodiscard]] std::optional<JobId> find(uid_t user, const std::string& name) const;
    [[nodiscard]] const KnownJob& at(JobId id) const { return jobs_.at(id); }
    [[nodiscard]] const std::map<JobId, KnownJob>& jobs() const { return jobs_; }

    /// The job as the whole cluster knows it: all that is of one allocation is one job.
    [[nodiscard]] JobHere cluster_job(JobId id) const;

    /// Those whose hosts are known; but not what only stands for an allocation of which
    /// something runs that counts itself: it has no pattern and no processes.
    [[nodiscard]] std::vector<CountingJob> counting() const;

    /// Started jobs as text to be kept over a restart of the daemon.
    [[nodiscard]] std::string to_text() const;
    /// Takes up jobs of such a text; those that had processes wait for them to come
    /// back.  Fails, taking none, if it is not such a text.
    [[nodiscard]] Result<void> restore(std::string_view text);
    /// Ends the jobs whose processes have not come back.  True if there were any.
    bool end_deserted();

private:
    [[nodiscard]] std::uint32_t weight_of(uid_t user, std::string_view allocation) const;
    [[nodiscard]] std::uint64_t start_of(uid_t user, const std::string& allocation) const;
    [[nodiscard]] std::size_t started_by(uid_t user) const;
    [[nodiscard]] std::size_t started() const;

    std::map<JobId, KnownJob> jobs_;
    JobId next_ = 1;
};

}  // namespace headway

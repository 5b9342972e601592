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
//
// This is the one table of jobs: PhaseJobs, the Pacer's collectives and the sharing of links
// find there what they know of a job, and keep it there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/accounts.hpp"
#include "base/limits.hpp"
#include "base/quota.hpp"
#include "jobs/job_shares.hpp"
#include "kernel/pacing.hpp"
#include "protocol/protocol.hpp"
#include "trunk/shared_trunk.hpp"

namespace headway {

using JobId = std::uint64_t;

/// A collective that a client is in, or the pattern that a job started by command is in
/// all the time.
struct ActiveEnter {
    std::optional<Pacer::EnterId> id;  ///< none: entered, but not paced
    std::string reason;                ///< why so, as the plan says
    std::vector<ClassRate> rates{};    ///< of a job that is alone; empty: never paced
    std::vector<ClassRate> in_force{};  ///< as they were asked of the kernel; empty: none
    bool is_uncontended = false;       ///< `rates` count only if the job is not alone
    std::uint64_t number = 0;          ///< by which the client leaves it; ascending
};

/// A job's entries in the classifier's memory, from its first process with a slot to its last.
struct JobPhases {
    std::uint32_t number = 0;  ///< of its array: PhaseSeat::job
    std::uint32_t generation = 1;
    std::set<std::uint32_t> slots{};              ///< taken
    std::vector<std::vector<ClassRate>> rates{};  ///< by phase, as of a job alone; rates[0] is rest
    std::vector<std::uint32_t> named{};  ///< of each phase: the last generation that did
    /// The phase that a slot's process has for its single calls, one after the other.
    std::map<std::uint32_t, std::uint32_t> of_calls{};
    std::map<std::uint32_t, std::uint32_t> joined{};  ///< the generation of each slot's process
    std::map<std::uint32_t, std::uint64_t> cgroups{};  ///< of slots' processes, as far as known
    std::vector<TcHandle> classes{};  ///< its packets take, by trunk; empty: those of all jobs
};

struct Job {
    uid_t user = 0;
    uid_t account = 0;  ///< whose quota it takes from
    std::string name;
    std::optional<StartJobRequest> started;  ///< what the command said
    std::string started_text{};              ///< the same as JSON, made once: lists of hosts may be long
    std::optional<HostSet> hosts;            ///< none: not known
    std::size_t processes = 0;               ///< connections that named it
    bool had_processes = false;
    std::uint64_t told_start = 0;            ///< as the first process told that told any; 0: none did
    std::vector<LinkPart> parts;             ///< in force, by class of the layout; empty: all of it
    std::optional<JobPhases> phases;         ///< none: none of its processes has a slot
    std::optional<ActiveEnter> entered;      ///< of a started job: its pattern

    [[nodiscard]] std::uint32_t weight() const { return started ? started->weight : 1; }
    /// The start number: a started job's is the command's, which nodes without processes are told
    /// as well.
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
    /// Counts jobs that begin from now on by these accounts.
    void count_by(Accounts accounts) { accounts_ = std::move(accounts); }
    [[nodiscard]] const Accounts& accounts() const { return accounts_; }

    /// The job of that name, which begins if there is none; one more process.
    JobId attach(uid_t user, const std::string& name);
    /// One process less.  The job, if it has ended with it.
    std::optional<Job> detach(JobId id);

    /// By command; one that is known already is what the request says from now on.
    /// Fails if its user has started too many.
    [[nodiscard]] Result<JobId> start(uid_t user, const StartJobRequest& request);
    /// It is what the command said of it before; none: as if no command had started it.
    void take_back_start(JobId id, std::optional<StartJobRequest> before);
    /// By command: one that has processes goes on as if it had not been started.
    /// The job, if it has ended.
    std::optional<Job> end(JobId id);

    /// Hosts that are known to be the job's, besides those known before.  True if
    /// there are any new.  Fails if too many jobs of its user have hosts; not one that was started
    /// by command or has phases, of which a user has few.
    [[nodiscard]] Result<bool> learn(JobId id, const HostSet& hosts);
    /// These alone; none: no host of it is known.  Fails as learn() does, and not where it had some.
    [[nodiscard]] Result<void> set_hosts(JobId id, std::optional<HostSet> hosts);
    /// Grows whenever the hosts of a job change.
    [[nodiscard]] std::uint64_t host_changes() const { return host_changes_; }
    /// A process says it; the first that says any is believed.
    void tell_start(JobId id, std::uint64_t start);

    /// By class of the layout, of jobs that have not all of it.
    using Parts = std::map<JobId, std::vector<LinkPart>>;
    [[nodiscard]] Parts parts() const;
    /// Returns the job's parts; empty: the job has all of every link.
    [[nodiscard]] static const std::vector<LinkPart>& parts_of(const Parts& parts, JobId id);
    /// Gives jobs without phases their parts; PhaseJobs::share() does it for the others.
    void set_parts(const Parts& parts);

    /// One that is not known yet has no processes: attach() or end_unused() follows.
    [[nodiscard]] JobId find_or_begin(uid_t user, const std::string& name);
    /// The job ends if it has no process and no command has started it.
    void end_unused(JobId id);
    [[nodiscard]] std::optional<JobId> find(uid_t user, const std::string& name) const;
    [[nodiscard]] Job& at(JobId id) { return jobs_.at(id); }
    [[nodiscard]] const Job& at(JobId id) const { return jobs_.at(id); }
    [[nodiscard]] const std::map<JobId, Job>& jobs() const { return jobs_; }
    [[nodiscard]] std::vector<JobId> ids() const;

    /// Grows with every change of what cluster_job() tells of any job, and of who has processes.
    [[nodiscard]] std::uint64_t changes() const { return host_changes_ + started_changes_ + process_changes_; }
    /// The job as the whole cluster knows it: all that is of one allocation is one job.
    [[nodiscard]] JobHere cluster_job(JobId id) const;

    /// Jobs whose hosts are known.  A job that only stands for an allocation (it has no pattern and
    /// no processes) does not count if something in the allocation counts itself.
    [[nodiscard]] std::vector<CountingJob> counting() const;

    /// Started jobs as text to be kept over a restart of the daemon.
    [[nodiscard]] std::string to_text() const;
    /// Grows whenever to_text() may be another text.
    [[nodiscard]] std::uint64_t started_changes() const { return started_changes_; }
    /// Takes up jobs of such a text; those that had processes wait for them to come
    /// back.  Fails, taking none, if it is not such a text.
    [[nodiscard]] Result<void> restore(std::string_view text);
    /// Started jobs whose processes have not come back.
    [[nodiscard]] std::vector<JobId> deserted() const;

private:
    Job take(JobId id);
    void set_started(Job& job, std::optional<StartJobRequest> request);
    [[nodiscard]] std::uint64_t start_of(uid_t user, const std::string& allocation) const;

    Accounts accounts_;
    std::map<JobId, Job> jobs_;
    std::map<std::pair<uid_t, std::string>, JobId> by_name_;
    JobId next_ = 1;
    Quota of_started_{"jobs that were started by command", {started_jobs_max, administrators_jobs}};
    Quota of_sharing_{"jobs that share links on this node", {sharing_jobs_max, administrators_jobs}};
    std::uint64_t host_changes_ = 0;
    std::uint64_t started_changes_ = 0;
    std::uint64_t process_changes_ = 0;
};

}  // namespace headway

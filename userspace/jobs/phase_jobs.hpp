// SPDX-License-Identifier: Apache-2.0
// Jobs with phases on this node: who sits in which slot, which phase of a job
// means which rates.
//
// Phases are told apart by the rates that their plan gives a job that is alone;
// what they mean in the kernel is the job's part of those (share()).
//
// A job is a name and a user: processes of one user can choose each other's
// phases (they can kill each other as well), and nobody else's.  It has phases
// (Job::phases) from its first process here to its last.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/quota.hpp"
#include "jobs/job_table.hpp"
#include "kernel/traffic_control.hpp"
#include "phase/phase_cgroups.hpp"
#include "phase/phase_maps.hpp"
#include "phase/phase_tables.hpp"

namespace headway {

/// One run of the daemon tells the next this about a job with phases.
struct KeptJob : JobPhases {
    uid_t user = 0;
    std::string name;
    std::vector<LinkPart> parts;
};

class PhaseJobs {
public:
    /// The kernel must hold the trunks' classes.  The references must outlive
    /// this object; no process may be in the maps, and no job of the table have phases.
    PhaseJobs(JobTable& table, PhaseMaps& maps, TrafficControl& kernel,
              std::vector<TrunkClasses> trunks, BytesPerSecond link_rate);

    /// A slot for one more process of the job.  Fails if all are taken, or its user has too many.
    [[nodiscard]] Result<PhaseSeat> join(JobId id);
    /// Jobs of an earlier run go on as they were, with their processes in the
    /// phases that their slots hold, in the arrays that `maps` has adopted for them.
    /// Those that did: not where the kernel refuses an entry, or what is said of
    /// the job cannot be.  Their generation is another one than before.
    [[nodiscard]] std::set<std::uint32_t> restore(const std::map<std::uint32_t, KeptJob>& kept);
    /// The process is gone: its slot does not count any more.
    void leave(const PhaseSeat& seat);

    /// Packets of the sockets that it makes there are the job's, unless another job has
    /// processes in that cgroup.  Fails if the kernel takes no more cgroups.
    [[nodiscard]] Result<void> know_cgroup(const PhaseSeat& seat, std::uint64_t cgroup);
    [[nodiscard]] const PhaseCgroups& cgroups() const { return cgroups_; }

    /// These jobs' packets take the strictest phase of their own job, or of their user's
    /// jobs where no cgroup tells them, at the same time as those of others.  Phases of
    /// root's other jobs hold for all packets left, those of other users' for none; so it
    /// is where the kernel refuses.  The caller knows that the jobs may send all they have
    /// at the same time, and asks again when jobs come or go, or processes of them.  A job
    /// keeps the classes that it gets for it, so that its packets stay in order.
    [[nodiscard]] Result<void> tell_apart(const std::set<std::uint32_t>& jobs);
    [[nodiscard]] bool are_apart() const { return are_apart_; }
    /// Grows whenever tell_apart() has to be asked again for the same jobs.
    [[nodiscard]] std::uint64_t seat_changes() const { return seat_changes_; }

    /// The job's phase that limits trunk i to rates[i] (none: not at all), or to the
    /// job's part of that: 0 if there is no limit; the number that equal rates have, or the next, or one
    /// that is free again.  Fails if the job has too many, or the kernel refuses
    /// an entry.
    ///
    /// A number is free again when no slot holds it, no answer of this generation
    /// named it, and either no process is left that was there when one did, or
    /// its new rates are nowhere laxer than those it had: a process may have
    /// looked at the generation just before it changed, and store the number long
    /// after.  If all have been named since the last change, the generation
    /// changes now; not where `changes_generation` is false, because the same
    /// answer has named some already.
    [[nodiscard]] Result<std::uint32_t> phase(std::uint32_t job,
                                              const std::vector<ClassRate>& rates,
                                              bool changes_generation = true);

    /// Returns the phase of a single call of the process in that seat.  One number serves all its
    /// calls: it means the rates that the process asked for last, even while the process is in it.
    [[nodiscard]] Result<std::uint32_t> phase_of_call(const PhaseSeat& seat,
                                                      const std::vector<ClassRate>& rates);

    /// Jobs with phases get these parts of the links, in the phases that they have as well, in
    /// which their processes may be at this moment.  All or nothing: if the kernel
    /// refuses any, rates and parts are as before.
    [[nodiscard]] Result<void> share(const JobTable::Parts& parts);
    /// Returns what is left to the job of these rates now.
    [[nodiscard]] std::vector<ClassRate> shared(std::uint32_t job,
                                                const std::vector<ClassRate>& rates) const;
    /// Sets the link's rate, of which a job without a limit gets a part from the next share() on.
    void set_link_rate(BytesPerSecond link_rate) {
        link_rate_changed_ = link_rate_changed_ || link_rate_ != link_rate;
        link_rate_ = link_rate;
    }

    /// Tells the job's processes that earlier answers do not hold any more.
    void new_generation(std::uint32_t job);
    void new_generation_of_all();

    /// The jobs with phases, by JobPhases::number.
    [[nodiscard]] const std::map<std::uint32_t, JobId>& numbers() const { return numbers_; }
    [[nodiscard]] const Job& job(std::uint32_t number) const { return table_.at(numbers_.at(number)); }
    [[nodiscard]] const JobPhases& phases_of(std::uint32_t number) const { return *job(number).phases; }
    /// All that the next run is told.
    [[nodiscard]] std::map<std::uint32_t, KeptJob> kept() const;
    /// Reads the phase that the process has written into its slot.
    [[nodiscard]] std::uint32_t phase_in(const PhaseSeat& seat);
    [[nodiscard]] const PhaseTables& tables() const { return tables_; }
    [[nodiscard]] PhaseTables& tables() { return tables_; }
    [[nodiscard]] PhaseMaps& maps() const { return maps_; }
    /// Grows with every change of what restore() would need.
    [[nodiscard]] std::uint64_t changes() const { return changes_; }

private:
    [[nodiscard]] JobPhases& own_phases(std::uint32_t number) {
        return *table_.at(numbers_.at(number)).phases;
    }
    [[nodiscard]] bool is_possible(const KeptJob& job) const;
    void restore_cgroups(const std::map<std::uint32_t, KeptJob>& kept,
                         const std::vector<PhaseSeat>& seats);
    Result<void> restore_phases(std::uint32_t number, const KeptJob& kept);
    void restore_classes(std::uint32_t number, const std::vector<TcHandle>& classes);
    void use_classes(std::uint32_t number, const std::vector<TcHandle>& classes);
    Result<void> tell_apart_now(const std::set<std::uint32_t>& jobs);
    Result<void> settle_users();
    [[nodiscard]] bool is_untold(std::uint32_t number) const;
    Result<void> begin(JobId id);
    void begin_with(JobId id, JobPhases phases);
    Result<void> renew();
    void end(std::uint32_t number);
    [[nodiscard]] Result<std::optional<std::uint32_t>> find_room(
        std::uint32_t number, const std::vector<ClassRate>& rates, bool changes_generation);
    Result<std::uint32_t> add(std::uint32_t number, const std::vector<ClassRate>& rates,
                              std::optional<std::uint32_t> reused);
    [[nodiscard]] bool is_held(std::uint32_t number, std::uint32_t phase);
    [[nodiscard]] std::optional<std::uint32_t> free_phase(std::uint32_t number,
                                                          const std::vector<ClassRate>& rates);
    Result<std::vector<PhaseRate>> acquire(std::uint32_t number,
                                           const std::vector<ClassRate>& rates);
    void release(std::uint32_t number, const std::vector<ClassRate>& rates, std::size_t trunks);
    struct Reshare;
    void collect(Reshare& work, std::uint32_t number, const std::vector<LinkPart>& parts) const;
    void finish(const Reshare& work, const JobTable::Parts& parts);
    [[nodiscard]] ClassRate left_of(const ClassRate& rate, const std::vector<LinkPart>& parts,
                                    std::size_t trunk) const;

    JobTable& table_;
    PhaseMaps& maps_;
    PhaseTables tables_;
    PhaseCgroups cgroups_;
    BytesPerSecond link_rate_;
    bool link_rate_changed_ = false;  ///< and parts are still of the one before
    std::map<std::uint32_t, JobId> numbers_;
    std::set<std::uint32_t> fresh_;  ///< numbers whose arrays nobody has seen
    bool are_apart_ = false;
    std::map<uid_t, std::uint32_t> users_;  ///< as the kernel has it: see PhaseMaps::set_user()
    std::uint64_t seat_changes_ = 0;
    Quota of_jobs_{"jobs with phases on this node", {HEADWAY_PHASE_JOBS, administrators_jobs, phases_for_one_user}};
    Quota of_processes_{"processes with phases on this node", {HEADWAY_PHASE_PROCESSES, 0, phases_for_one_user}};
    Quota of_phases_{"rates in jobs with phases on this node", {table_entries_max, 0, phases_for_one_user}};
    std::size_t trunk_count_;
    std::uint64_t changes_ = 0;
};

}  // namespace headway

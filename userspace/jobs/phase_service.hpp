// SPDX-License-Identifier: Apache-2.0
// The requests "join", "phase", "traffic" and "rate": a process gets a slot in the memory
// that the classifier reads, and learns which number to store there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "jobs/control_session.hpp"
#include "jobs/job_table.hpp"
#include "jobs/node_planner.hpp"
#include "jobs/phase_jobs.hpp"

namespace headway {

class PhaseService {
public:
    /// The kernel must hold `layout` with phases, on a link of `link_rate`, and `program`, which
    /// reads the maps.  The references must outlive the service.
    PhaseService(JobTable& table, PhaseMaps& maps, TrafficControl& kernel,
                 const KernelLayout& layout, BytesPerSecond link_rate, const PhaseProgram& program)
        : jobs_(table, maps, kernel, trunk_classes(layout), link_rate),
          program_(program),
          trunks_(layout.classes.size()),
          link_rate_(link_rate) {}

    /// Looks up the cgroup of a process that joins, and hears why packets of several
    /// jobs are not told apart.  Without it they never are.
    using ReadCgroup = std::function<Result<std::uint64_t>(const Peer&)>;
    using TellError = std::function<void(const Error&)>;
    void tell_apart_with(ReadCgroup read, TellError tell) {
        read_cgroup_ = std::move(read);
        tell_apart_error_ = std::move(tell);
    }

    /// The kernel held these classes before.  Until release_earlier_program(), packets of resting
    /// traffic are left to the classifier of the earlier run, if there is one.
    void adopt(const std::vector<ClassState>& found, std::optional<std::uint32_t> earlier_program) {
        earlier_program_ = earlier_program;
        jobs_.tables().adopt(found);
    }
    [[nodiscard]] const std::optional<std::uint32_t>& earlier_program() const { return earlier_program_; }
    /// From now on our own classifier decides about all packets.
    void release_earlier_program();
    [[nodiscard]] const PhaseProgram& program() const { return program_; }

    /// Gives the session a slot in its job, which has this name.  A descriptor goes with the
    /// answer: slots_fd() of the session.
    [[nodiscard]] Result<Json> join(ControlSession& session, const JoinRequest& request,
                                    Json answer);
    [[nodiscard]] Result<Json> phase(const ControlSession& session, const PhaseRequest& request,
                                     const NodePlanner& planner, Json answer);
    [[nodiscard]] Result<Json> traffic(const ControlSession& session, const TrafficRequest& request,
                                       const NodePlanner& planner, Json answer);
    [[nodiscard]] Result<Json> rate(const ControlSession& session, const RateRequest& request,
                                    Json answer);

    [[nodiscard]] int slots_fd(const ControlSession& session);
    /// Learns the process's cgroup; if it fails, the strictest phase of all holds for the process's
    /// packets.
    void learn_cgroup(const ControlSession& session);

    /// The session ends, or its process has.
    void leave(ControlSession& session);

    /// Jobs of an earlier run, in the arrays that they had; see PhaseJobs::restore().
    /// Their numbers mean what they meant, but are to be asked for again.
    [[nodiscard]] Result<std::set<std::uint32_t>> restore(
        std::map<std::uint32_t, KeptJob> kept, std::vector<KeptArray> arrays);
    [[nodiscard]] const PhaseJobs& jobs() const { return jobs_; }
    [[nodiscard]] PhaseJobs& jobs() { return jobs_; }
    /// Grows with every change of what restore() would need.
    [[nodiscard]] std::uint64_t changes() const { return jobs_.changes() + releases_; }

    /// Pacing is off, or on again: what was answered does not hold any more.
    void set_off(bool is_off) {
        set_phases_off(jobs_.maps(), is_off);
        jobs_.tables().set_off(is_off);
        jobs_.new_generation_of_all();
    }

    /// The link's rate decides which rates are no limit, so earlier answers do not hold any more.
    void link_changed(BytesPerSecond link_rate) {
        link_rate_ = link_rate;
        jobs_.set_link_rate(link_rate);
        jobs_.new_generation_of_all();
    }

    /// Packets of a user's jobs with phases are told from all others, always.  Those of
    /// root's jobs are if there are several jobs, those have their parts of the links
    /// (`parts_hold`, and the job's hosts are known), and some cgroups are known.  After any
    /// change of that, and before a client hears of it.
    void settle_apart(bool parts_hold);

    /// Adds the job's phases to its entry of the status.
    void add_phases_json(const JobPhases& phases, Json& entry) const;

private:
    [[nodiscard]] static std::vector<TrunkClasses> trunk_classes(const KernelLayout& layout);
    Result<void> tell_plan(Json& answer, const PhaseSeat& seat, const NodePlan& plan,
                           const NodePlanner& planner, bool one_call = false);
    [[nodiscard]] bool is_too_slow(BytesPerSecond rate) const;
    [[nodiscard]] tl::unexpected<Error> too_slow(BytesPerSecond rate) const;
    [[nodiscard]] std::vector<ClassRate> without_idle_limits(std::vector<ClassRate> rates) const;
    [[nodiscard]] Json number_json(const PhaseSeat& seat, std::uint32_t number) const;
    [[nodiscard]] ClassRate least_of(std::uint32_t job, std::uint32_t number) const;
    [[nodiscard]] bool has_part(std::uint32_t job) const;
    [[nodiscard]] Result<std::uint32_t> number_of(const PhaseSeat& seat, const NodePlan& plan,
                                                  bool one_call);
    [[nodiscard]] std::set<std::uint32_t> jobs_to_tell_apart(bool parts_hold) const;

    PhaseJobs jobs_;
    PhaseProgram program_;
    std::optional<std::uint32_t> earlier_program_;
    std::uint64_t releases_ = 0;  ///< of an earlier program
    ReadCgroup read_cgroup_;
    TellError tell_apart_error_ = [](const Error&) {};
    std::size_t trunks_;
    BytesPerSecond link_rate_;
    std::set<std::uint32_t> asked_apart_;  ///< jobs that were to be told apart last
    std::uint64_t asked_for_seats_ = 0;    ///< PhaseJobs::seat_changes() then
};

}  // namespace headway

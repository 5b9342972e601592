// SPDX-License-Identifier: Apache-2.0
// The daemon's answers, without its sockets: a session per client, requests in,
// answers out, rates in the kernel.  Everything a client does is bounded
// (limits.hpp) and undone when its session closes.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "control/protocol.hpp"
#include "daemon/handed_state.hpp"
#include "jobs/control_session.hpp"
#include "jobs/job_table.hpp"
#include "jobs/node_planner.hpp"
#include "jobs/phase_service.hpp"
#include "kernel/pacing.hpp"
#include "kernel/reconciler.hpp"

namespace headway {

// --------------------------------------------------- what may be asked, and by whom
// One row for each kind of request.  Documentation/security.rst says what follows from it.

class ControlService;

enum class Authority {
    anybody,        ///< who may connect: it changes nothing that is another's
    own_job,        ///< of the job's user
    administrator,  ///< root, and the group that [access] names
};

/// Whether its time counts for its user (UserTime).
enum class Cost { little, planning };

struct RequestKind {
    std::string_view name;
    Authority who;
    Cost cost;
    Result<Json> (*serve)(ControlService&, ControlSession&, const RequestBody&, Json answer);
    std::string_view timed_as{};  ///< in the status; empty: not told
    bool is_handed_on = false;    ///< it changes what a HandedClient tells
    bool needs_phases = false;
    bool gives_slots = false;     ///< a descriptor of the job's slots goes with the answer
};

[[nodiscard]] std::span<const RequestKind> request_kinds();
/// Null: there is none of that name.
[[nodiscard]] const RequestKind* find_request(std::string_view name);

/// Why only an administrator may ask this of the job of that user; none: the user may.
[[nodiscard]] std::optional<std::string> beyond_own_job(const RequestBody& body, uid_t user);

// ------------------------------------------------------------------------ the service

/// `headway off`: that an administrator has switched pacing off on this node.
struct PacingOff {
    std::uint64_t since_unix_s = 0;
    uid_t uid = 0;  ///< who asked for it
};

/// As answers and the state file have it.
[[nodiscard]] Json off_json(const PacingOff& off);
/// Any text means that pacing is off: a damaged file must not switch it on.
[[nodiscard]] PacingOff parse_off(std::string_view text);

/// How long something took, over the life of the daemon.
struct LatencyStats {
    std::uint64_t count = 0;
    std::chrono::nanoseconds last{0};
    std::chrono::nanoseconds max{0};
    std::chrono::nanoseconds total{0};

    void add(std::chrono::nanoseconds took) {
        ++count;
        last = took;
        total += took;
        max = std::max(max, took);
    }
};

/// One datagram, and perhaps a descriptor to go with it, which stays the service's.
struct ControlAnswer {
    std::string text;
    int fd = -1;
    std::chrono::nanoseconds charged{0};  ///< to the user: how long it took
};

class ControlService final : public DesiredState {
public:
    using SessionId = std::uint64_t;

    /// The kernel must hold the planner's layout, all classes unlimited, on a
    /// link of `link_rate`.  `kernel` and `clock` must outlive the service.
    ControlService(NodePlanner planner, BytesPerSecond link_rate, TrafficControl& kernel,
                   const Clock& clock);
    ControlService(const ControlService&) = delete;
    ControlService& operator=(const ControlService&) = delete;

    /// The kernel holds the layout with phases: clients may switch rates
    /// themselves.  `maps` must outlive the service, as `program`, which reads them.
    void use_phases(PhaseMaps& maps, const PhaseProgram& program);

    /// Looks up the cgroup of a process that joins, and hears why packets of several
    /// jobs are not told apart.  Without it they never are.
    using ReadCgroup = std::function<Result<std::uint64_t>(const Peer&)>;
    using TellError = std::function<void(const Error&)>;
    /// What paces, for "status": gap frames ("gap"), the qdisc's timer ("timer"), or "fq";
    /// and why.
    void use_backend(std::string backend, std::string why);
    [[nodiscard]] const std::string& backend() const { return backend_; }
    void tell_apart_with(ReadCgroup read, TellError tell);

    /// The kernel held these classes before, and still does: rates of an earlier
    /// run hold until release_adopted(), classes of phases serve the next who
    /// wants such a rate.  The maps must leave packets of resting traffic to the
    /// classifier of the earlier run, if there is one: so long its phases hold.
    void adopt(const std::vector<ClassState>& found,
               std::optional<std::uint32_t> earlier_program = std::nullopt);
    void release_adopted();

    [[nodiscard]] KernelDesire desired() const override;
    void kernel_agrees(const std::optional<BytesPerSecond>& link_rate) override;
    void kernel_differs() override;
    /// For "status"; `status` must outlive the service.
    void show(const ReconcileStatus& status) { reconciled_ = &status; }
    /// The same: "coordination" of the answer; null: there is none.
    void show_coordination(std::function<Json()> look) { coordination_ = std::move(look); }
    [[nodiscard]] BytesPerSecond link_rate() const { return link_rate_; }
    /// The same: "feedback".
    void show_feedback(std::function<Json()> look) { feedback_ = std::move(look); }
    /// Jobs that have a process here now, or were started on this node by command;
    /// sorted by name.
    [[nodiscard]] std::vector<JobHere> jobs() const;
    /// What the node may use now of the trunk that it shares by agreement: rates follow
    /// in one step, but those that the kernel has until then need not fit.
    void divide_trunk(const TrunkDivision& division);

    /// Fails if there are too many clients, in all or of that user.
    [[nodiscard]] Result<SessionId> open(const Peer& peer);

    /// The answer to one datagram; what it asks of the kernel has been done.
    [[nodiscard]] ControlAnswer answer(SessionId id, std::string_view datagram);

    /// Undoes what the session entered.
    void close(SessionId id);

    /// Takes over another configuration.  Collectives that run keep their
    /// rates; prepared patterns are planned anew.  Refused, changing nothing,
    /// if it needs another set-up of the kernel or of the socket.
    [[nodiscard]] Result<void> reload(Config config);

    /// What NodePlanner::distrust() is, for everything that is planned from now on, and
    /// for started jobs at once.  Collectives that run keep their rates.
    void distrust(std::optional<std::uint32_t> divisor_factor_thousandths);

    /// Pacing is off or on from now on: `keep` sees to it that the next run knows, and
    /// that a pass of the reconciler follows.
    using KeepOff = std::function<Result<void>(const std::optional<PacingOff>&)>;
    void keep_off_with(KeepOff keep) { keep_off_ = std::move(keep); }
    /// It was switched off in an earlier run.  Nothing of that run holds any more.
    void stay_off(const PacingOff& off);
    [[nodiscard]] const std::optional<PacingOff>& off() const { return off_; }

    /// Who belongs to this group may ask what root may; none: only root.
    void administrate_by(std::optional<gid_t> group) { administrators_ = group; }

    /// Started jobs are given to `keep` as text whenever they change, for
    /// restore_jobs() of a later run.
    void keep_jobs_with(std::function<void(const std::string&)> keep) { keep_ = std::move(keep); }
    /// Jobs that cannot begin any more are left out; the first reason is the failure.
    [[nodiscard]] Result<void> restore_jobs(std::string_view text);
    /// Those that had processes have been given time for them to come back.
    [[nodiscard]] bool has_deserted_jobs() const;
    void end_deserted_jobs();

    /// What the next run needs to go on with the processes that have joined: all but the
    /// processes themselves,
    [[nodiscard]] HandedState handed_jobs() const;
    /// and each of them.  `tell` gets the session, and ControlSession::handed_changes.
    void for_each_joined(const std::function<void(SessionId, std::uint64_t changes)>& tell) const;
    [[nodiscard]] std::string handed_text_of(SessionId joined) const;
    /// These grow whenever handed_jobs() becomes another, or anything of it and of the processes.
    [[nodiscard]] std::uint64_t handed_job_changes() const;
    [[nodiscard]] std::uint64_t handed_changes() const { return handed_job_changes() + session_changes_; }
    [[nodiscard]] std::optional<PhaseSeat> seat_of(SessionId id) const;
    [[nodiscard]] int slots_fd_of(std::uint32_t job) const { return maps_->slots_fd(job); }
    /// PhaseMaps::memory(); there are phases whenever somebody has joined.
    [[nodiscard]] std::map<std::string, int> memory() const { return maps_->memory(); }
    /// Those of an earlier run who are still there go on, each in its job's array;
    /// their sessions.  Fails, with nobody restored, where the earlier run's slots
    /// and phases mean nothing here.
    [[nodiscard]] Result<std::map<PhaseSeat, SessionId>> restore_clients(
        HandedState state, std::vector<KeptArray> arrays, const std::map<PhaseSeat, Peer>& peers);
    /// All who were in phases then are here: its classifier need not decide any more.
    void earlier_run_is_back() { release_classifier(); }

    [[nodiscard]] const NodePlanner& planner() const { return planner_; }
    [[nodiscard]] Pacer& pacer() { return pacer_; }
    /// Through which all changes of classes have to go.
    [[nodiscard]] TrafficControl& kernel() { return kernel_; }
    /// Brings the kernel to what is wanted, if it is time.
    void retry();
    /// When retry() wants to be called; none: all is as wanted.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> retry_at() const;
    /// The last failure that no client was told, once.
    [[nodiscard]] std::optional<Error> take_error();
    [[nodiscard]] std::size_t clients() const { return sessions_.size(); }

private:
    friend std::span<const RequestKind> request_kinds();
    struct Requests;  // the table of them
    [[nodiscard]] Result<void> may_ask(const Peer& peer, const RequestKind& kind,
                                       const RequestBody& body) const;
    [[nodiscard]] bool is_administrator(const Peer& peer) const;
    [[nodiscard]] Result<Json> serve(ControlSession& session, const RequestKind& kind,
                                     const RequestBody& body, Json answer);
    [[nodiscard]] Result<std::string> in_pieces(ControlSession& session,
                                                const std::optional<std::uint64_t>& id,
                                                std::string text);

    Result<Json> hello(ControlSession& session, const HelloRequest& request, Json answer);
    Result<Json> join(ControlSession& session, const JoinRequest& request, Json answer);
    Result<Json> plan(ControlSession& session, const PlanRequest& request, Json answer);
    Result<Json> prepare(ControlSession& session, const PrepareRequest& request, Json answer);
    Result<Json> enter(ControlSession& session, const EnterRequest& request, Json answer);
    Result<Json> leave(ControlSession& session, const LeaveRequest& request, Json answer);
    Result<Json> phase(ControlSession& session, const PhaseRequest& request, Json answer);
    Result<Json> traffic(ControlSession& session, const TrafficRequest& request, Json answer);
    Result<Json> rate(ControlSession& session, const RateRequest& request, Json answer);
    Result<Json> status(ControlSession& session, const StatusRequest& request, Json answer);
    Result<Json> ready(ControlSession& session, const ReadyRequest& request, Json answer);
    Result<Json> more(ControlSession& session, const MoreRequest& request, Json answer);

    Result<Json> start_job(ControlSession& session, const StartJobRequest& request, Json answer);
    Result<Json> end_job(ControlSession& session, const EndJobRequest& request, Json answer);
    Result<Json> list_jobs(ControlSession& session, const JobsRequest& request, Json answer);

    Result<Json> switch_off(ControlSession& session, const OffRequest& request, Json answer);
    Result<Json> switch_on(ControlSession& session, const OnRequest& request, Json answer);
    void set_off(std::optional<PacingOff> off);
    Json switched(Json answer);
    void tell_off(Json& answer) const;

    [[nodiscard]] JobTable::Parts parts_of_jobs() const;
    void limit_beyond_trunk(JobId id, std::uint32_t sharers,
                            std::vector<LinkPart>& parts) const;
    [[nodiscard]] std::vector<ClassRate> shared_rates(std::optional<JobId> job,
                                                      const ActiveEnter& entered) const;
    std::vector<std::pair<std::optional<JobId>, ActiveEnter*>> all_enters();
    Result<void> enter_anew();
    Result<void> share_anew();
    void share_or_retry();
    void attach_job(ControlSession& session, const std::string& name);
    void detach_job(ControlSession& session);
    Result<void> learn_hosts(ControlSession& session, const HostSet& hosts);
    Result<void> learn_hosts(ControlSession& session, const CollectiveHosts& collective);
    Result<ActiveEnter> plan_job(const StartJobRequest& request) const;
    Result<void> begin_job(JobId id);
    void leave_pattern(const std::optional<ActiveEnter>& entered);
    void keep_jobs();
    using HostNames = std::map<JobId, std::vector<std::string>>;
    [[nodiscard]] HostNames names_of_hosts() const;
    void renumber_hosts(const HostNames& names);
    void plan_anew();
    Json jobs_json(std::size_t most, bool with_phases) const;

    Result<std::uint64_t> remember(ControlSession& session, PreparedPattern prepared);
    [[nodiscard]] std::size_t patterns_of(uid_t user) const;
    Result<NodePlan> plan_of(ControlSession& session, const EnterRequest& request) const;
    Json daemon_json() const;
    Json classes_json(const std::vector<ClassState>& states) const;
    Json clients_json();
    void release_classifier();
    std::string set_up_text() const;
    void take_up(ControlSession& session, const PhaseSeat& seat, HandedClient client);
    void take_up_hosts(std::uint32_t number, const std::string& hosts);
    Json reconcile_json() const;
    bool is_in_step() const;
    void learn_cgroup(const ControlSession& session);
    void settle_apart();

    NodePlanner planner_;
    BytesPerSecond link_rate_;
    KernelMirror kernel_;
    const Clock& clock_;
    std::chrono::nanoseconds started_;
    Pacer pacer_;
    std::optional<PhaseService> phases_;
    PhaseProgram program_;
    PhaseMaps* maps_ = nullptr;
    std::optional<std::uint32_t> earlier_program_;
    const ReconcileStatus* reconciled_ = nullptr;
    JobTable jobs_;
    std::function<void(const std::string&)> keep_;
    std::string kept_ = "[]\n";  ///< what `keep_` was given last
    std::optional<TrunkDivision> trunk_division_;  ///< none: not shared by agreement, or not yet
    std::optional<PacingOff> off_;  ///< none: pacing is on
    KeepOff keep_off_ = [](const std::optional<PacingOff>&) { return Result<void>(); };
    std::optional<Error> share_error_;
    std::optional<std::chrono::nanoseconds> share_retry_at_;
    ReadCgroup read_cgroup_;
    std::string backend_ = "timer";
    std::string backend_reason_ = "gap frames were not tested";
    TellError tell_apart_error_ = [](const Error&) {};
    std::function<Json()> coordination_;
    std::function<Json()> feedback_;
    std::map<SessionId, ControlSession> sessions_;
    std::map<uid_t, std::size_t> sessions_of_user_;
    SessionId next_id_ = 1;
    std::uint64_t job_changes_ = 0;  ///< of what handed_jobs() tells, beside the jobs' phases
    std::uint64_t session_changes_ = 0;  ///< of all sessions that have joined
    std::optional<gid_t> administrators_;
    std::map<std::string_view, LatencyStats> latencies_;  ///< by RequestKind::timed_as
};

}  // namespace headway

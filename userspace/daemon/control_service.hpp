// SPDX-License-Identifier: Apache-2.0
// The daemon's answers, without its sockets: a session per client, requests in,
// answers out, rates in the kernel.  Everything a client does is bounded
// (limits.hpp) and undone when its session closes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "daemon/handed_state.hpp"
#include "daemon/kept_state.hpp"
#include "daemon/node_status.hpp"
#include "jobs/control_session.hpp"
#include "jobs/job_table.hpp"
#include "jobs/node_planner.hpp"
#include "jobs/phase_service.hpp"
#include "jobs/sessions.hpp"
#include "jobs/sharing.hpp"
#include "kernel/pacing.hpp"
#include "kernel/reconciler.hpp"
#include "protocol/protocol.hpp"

namespace headway {

/// One datagram, and perhaps a descriptor to go with it, which stays the service's.
struct ControlAnswer {
    std::string text;
    int fd = -1;
    std::chrono::nanoseconds charged{0};  ///< to the user: how long it took
};

class ControlService final : public DesiredState {
public:
    using SessionId = Sessions::Id;

    /// The kernel must hold the planner's layout, all classes unlimited, on a
    /// link of `link_rate`.  The references must outlive the service, whose reload() makes
    /// `planner` another value.
    ControlService(NodePlanner& planner, BytesPerSecond link_rate, TrafficControl& kernel,
                   const Clock& clock);
    ControlService(const ControlService&) = delete;
    ControlService& operator=(const ControlService&) = delete;

    /// The kernel holds the layout with phases: clients may switch rates
    /// themselves.  `maps` must outlive the service, as `program`, which reads them.
    void use_phases(PhaseMaps& maps, const PhaseProgram& program);

    /// The kernel held these classes before, and still does: rates of an earlier
    /// run hold until release_adopted(), classes of phases serve the next who
    /// wants such a rate.  The maps must leave packets of resting traffic to the
    /// classifier of the earlier run, if there is one: so long its phases hold.
    void adopt(const std::vector<ClassState>& found,
               std::optional<std::uint32_t> earlier_program = std::nullopt);
    void release_adopted();
    /// The kernel agrees since: no packet is of a phase of the earlier run any more.
    void lift_adopted();

    [[nodiscard]] KernelDesire desired() const override;
    void kernel_agrees(const std::optional<BytesPerSecond>& link_rate) override;
    void kernel_differs() override;
    [[nodiscard]] NodeStatus& status() { return status_; }
    [[nodiscard]] BytesPerSecond link_rate() const { return sharing_.link_rate(); }
    /// Jobs that have a process here now, or were started on this node by command;
    /// sorted by name.
    [[nodiscard]] std::vector<JobHere> jobs() const;
    /// Nobody wants a class to be limited: the kernel need not have any.
    [[nodiscard]] bool paces_nobody() const;
    /// Grows whenever jobs() may tell something else.
    [[nodiscard]] std::uint64_t job_changes() const { return jobs_.changes(); }
    /// See Sharing::divide_trunk().
    void divide_trunk(const TrunkDivision& division);
    /// See Sessions::limit_clients(); it must come before the first one.
    void limit_clients(std::size_t most) { sessions_.limit_clients(most); }

    /// Fails if there are too many clients, in all or of that user.
    [[nodiscard]] Result<SessionId> open(const Peer& peer);

    /// The answer to one datagram; what it asks of the kernel has been done.
    [[nodiscard]] ControlAnswer answer(SessionId id, std::string_view datagram);

    /// Undoes what the session entered; settle() follows.
    void close(SessionId id);

    /// After the events of a turn of the loop: shares the links if jobs have ended, and has started
    /// jobs written if any of them has.  The accounts whose jobs those were.
    std::set<uid_t> settle();

    /// Takes over another configuration.  Collectives that run keep their
    /// rates; prepared patterns are planned anew.  Refused, changing nothing,
    /// if it needs another set-up of the kernel or of the socket.
    [[nodiscard]] Result<void> reload(Config config);

    /// Distrusts the topology, as NodePlanner::distrust(), in everything that is planned from now
    /// on, and for started jobs at once.  Collectives that run keep their rates.
    void distrust(std::optional<std::uint32_t> divisor_factor_thousandths);

    /// Pacing was switched off in an earlier run.  Nothing of that run holds any more.
    void stay_off(const PacingOff& off);
    [[nodiscard]] const std::optional<PacingOff>& off() const { return kept_.off(); }
    /// The state that the next run has to find.
    [[nodiscard]] KeptState& kept() { return kept_; }

    /// Members of this group may ask what root may; none: only root may.
    void administrate_by(std::optional<gid_t> group) { administrators_ = group; }
    /// Counts clients and jobs that come from now on by these accounts.
    void count_by(Accounts accounts) { jobs_.count_by(std::move(accounts)); }
    /// The account whose quota and time the client uses: 0, which all administrators share, or a
    /// user's.
    [[nodiscard]] uid_t account_of(const Peer& peer) const;

    /// Jobs that cannot begin any more are left out; the first reason is the failure.
    [[nodiscard]] Result<void> restore_jobs(std::string_view text);
    /// Restored jobs that had processes wait for them to come back; the caller ends them after a
    /// time.
    [[nodiscard]] bool has_deserted_jobs() const;
    void end_deserted_jobs();

    /// The next run needs this to go on with the processes that have joined,
    [[nodiscard]] HandedState handed_jobs() const;
    /// and each of them.  `tell` gets the session, and ControlSession::handed_changes.
    void for_each_joined(const std::function<void(SessionId, std::uint64_t changes)>& tell) const;
    [[nodiscard]] std::string handed_text_of(SessionId joined) const;
    /// These grow whenever handed_jobs() becomes another, or anything of it and of the processes.
    [[nodiscard]] std::uint64_t handed_job_changes() const;
    [[nodiscard]] std::uint64_t handed_changes() const {
        return handed_job_changes() + sessions_.handed_changes();
    }
    [[nodiscard]] std::optional<PhaseSeat> seat_of(SessionId id) const;
    /// Null: the kernel holds no phases.  There are some whenever somebody has joined.
    [[nodiscard]] PhaseService* phases() { return phases_ ? &*phases_ : nullptr; }
    [[nodiscard]] const PhaseService* phases() const { return phases_ ? &*phases_ : nullptr; }
    /// Takes up the clients of an earlier run that are still there, each in its job's array, and
    /// returns their sessions.  Fails, with nobody restored, where the earlier run's slots and
    /// phases mean nothing here.
    [[nodiscard]] Result<std::map<PhaseSeat, SessionId>> restore_clients(
        HandedState state, std::vector<KeptArray> arrays, const std::map<PhaseSeat, Peer>& peers);
    /// All who were in phases then are here: its classifier need not decide any more.
    void earlier_run_is_back() { release_earlier_program(); }

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
    [[nodiscard]] std::size_t clients() const { return sessions_.all().size(); }

private:
    [[nodiscard]] Result<void> may_ask(const Peer& peer, const RequestKind& kind,
                                       const RequestBody& body) const;
    [[nodiscard]] bool is_administrator(const Peer& peer) const;
    [[nodiscard]] Result<Json> answer(ControlSession& session, const Request& request);
    [[nodiscard]] Result<std::string> in_pieces(ControlSession& session,
                                                const std::optional<std::uint64_t>& id,
                                                std::string text);

    // One for each kind of request, found by the type of its body.
    Result<Json> serve(ControlSession& session, const HelloRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const JoinRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const PlanRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const PrepareRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const EnterRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const LeaveRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const PhaseRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const TrafficRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const RateRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const StatusRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const ReadyRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const ClustersRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const MoreRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const StartJobRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const EndJobRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const JobsRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const OffRequest& request, Json answer);
    Result<Json> serve(ControlSession& session, const OnRequest& request, Json answer);
    void set_off(std::optional<PacingOff> off);
    Json switched(Json answer);
    void tell_off(Json& answer) const;

    void attach_job(ControlSession& session, const std::string& name);
    void detach_job(ControlSession& session);
    Result<void> learn_hosts(ControlSession& session, const HostSet& hosts);
    Result<void> learn_hosts(ControlSession& session, const CollectiveHosts& collective);
    Result<ActiveEnter> plan_job(const StartJobRequest& request) const;
    Result<void> plan_started(JobId id);
    Result<void> begin_job(JobId id);
    void leave_pattern(const std::optional<ActiveEnter>& entered);
    using HostNames = std::map<JobId, std::vector<std::string>>;
    [[nodiscard]] HostNames names_of_hosts() const;
    void renumber_hosts(const HostNames& names);
    void set_bursts(const std::vector<ClassLayout>& before);
    void plan_anew();
    Json jobs_json(std::size_t most, bool with_phases) const;

    Result<NodePlan> plan_of(ControlSession& session, const EnterRequest& request) const;
    Json daemon_json() const;
    Json classes_json(const std::vector<ClassState>& states) const;
    Json clients_json();
    void release_earlier_program();
    std::string set_up_text() const;
    void take_up(ControlSession& session, const PhaseSeat& seat, HandedClient client);
    void take_up_hosts(std::uint32_t number, const std::string& hosts);
    bool is_in_step() const;
    void settle_apart();

    NodePlanner& planner_;
    KernelMirror kernel_;
    const Clock& clock_;
    Pacer pacer_;
    JobTable jobs_;
    Sessions sessions_;
    std::optional<PhaseService> phases_;
    Sharing sharing_;
    KeptState kept_;
    NodeStatus status_;
    std::optional<gid_t> administrators_;
};

}  // namespace headway

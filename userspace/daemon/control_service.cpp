// SPDX-License-Identifier: Apache-2.0
// Sessions, who may ask for what, and the requests of processes in collectives.
#include "daemon/control_service.hpp"

#include <algorithm>
#include <iterator>
#include <variant>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/version.hpp"
#include "jobs/plan_json.hpp"

namespace headway {

ControlService::ControlService(NodePlanner& planner, BytesPerSecond link_rate,
                               TrafficControl& kernel, const Clock& clock)
    : planner_(planner),
      kernel_(kernel),
      clock_(clock),
      pacer_(kernel_, clock, planner_.layout()),
      sharing_(jobs_, sessions_, planner_, pacer_, link_rate, clock),
      status_(clock) {
    // The service asks anew for whatever cannot be read now.
    (void)kernel_.root_qdisc();
    (void)kernel_.classes();
}

void ControlService::use_phases(PhaseMaps& maps, const PhaseProgram& program) {
    phases_.emplace(jobs_, maps, kernel_, planner_.layout(), link_rate(), program);
    sharing_.use_phases(*phases_);
}

// ------------------------------------------------------------------ sessions

Result<ControlService::SessionId> ControlService::open(const Peer& peer) {
    return sessions_.open(peer, account_of(peer));
}

void ControlService::close(SessionId id) {
    auto* const session = sessions_.find(id);
    if (session == nullptr) return;
    std::vector<Pacer::EnterId> active;
    for (const ActiveEnter& entered : session->enters) {
        if (entered.id) active.push_back(*entered.id);
    }
    ControlSession ended = std::move(*sessions_.close(id));
    if (phases_) phases_->leave(ended);
    if (!active.empty()) pacer_.leave(active);
    detach_job(ended);
}

std::set<uid_t> ControlService::settle() {
    auto settled_for = sharing_.settle();
    settle_apart();
    kept_.keep_jobs(jobs_);
    return settled_for;
}

/// After everything that could change whether jobs are told apart.
void ControlService::settle_apart() {
    if (phases_) phases_->settle_apart(sharing_.holds());
}

// --------------------------------------------------- what may be asked, and by whom

/// The one place where a request is refused for who asks it.
Result<void> ControlService::may_ask(const Peer& peer, const RequestKind& kind,
                                     const RequestBody& body) const {
    if (kind.who == Authority::anybody || is_administrator(peer)) return {};
    constexpr const char* who = "only administrators (root, and the group that [access] names)";
    if (kind.who == Authority::administrator) return failure("{} may ask for \"{}\"", who, kind.name);
    if (const auto what = beyond_own_job(body, peer.uid)) return failure("{} {}", who, *what);
    return {};
}

bool ControlService::is_administrator(const Peer& peer) const {
    return peer.uid == 0 ||
           (administrators_ && std::ranges::find(peer.groups, *administrators_) != peer.groups.end());
}

uid_t ControlService::account_of(const Peer& peer) const {
    return is_administrator(peer) ? 0 : jobs_.accounts().of(peer.uid);
}

// ------------------------------------------------------------------- requests

ControlAnswer ControlService::answer(SessionId id, std::string_view datagram) {
    auto* const session = sessions_.find(id);
    const auto refuse = [](const std::optional<std::uint64_t>& request_id, std::string_view why) {
        return ControlAnswer{json_text(make_refusal(request_id, why))};
    };
    if (session == nullptr) return refuse(std::nullopt, "no session");
    if (datagram.size() > datagram_max_bytes) {
        return refuse(std::nullopt,
                      fmt::format("a request has at most {} bytes", datagram_max_bytes));
    }

    const auto begin = clock_.now();
    const Request request = parse_request(datagram);
    const auto result = answer(*session, request);
    auto text = result ? in_pieces(*session, request.id, json_text(*result))
                       : Result<std::string>(tl::unexpected(result.error()));
    ControlAnswer answer = text ? ControlAnswer{std::move(*text)} : refuse(request.id, text.error().message);
    kept_.keep_jobs(jobs_);  // whoever ends the daemon now, what was granted is known to the next run
    answer.charged = clock_.now() - begin;
    if (!text) return answer;
    status_.add_latency(request.kind->timed_as, answer.charged);
    if (request.kind->gives_slots) answer.fd = phases_->slots_fd(*session);
    return answer;
}

Result<Json> ControlService::answer(ControlSession& session, const Request& request) {
    if (!request.body) return tl::unexpected(request.body.error());
    const RequestKind& kind = *request.kind;
    if (auto may = may_ask(session.peer, kind, *request.body); !may) return tl::unexpected(may.error());
    if (kind.needs_phases && !phases_) {
        return failure("headwayd has no phases on this node; use enter and leave");
    }
    auto result = std::visit(
        [&](const auto& body) { return serve(session, body, make_answer(request.id)); }, *request.body);
    if (kind.is_handed_on) sessions_.note_change(session);
    settle_apart();
    if (result) tell_off(*result);
    return result;
}

// --------------------------------------------------------------------------- answers

Result<Json> ControlService::serve(ControlSession& session, const HelloRequest& request, Json answer) {
    session.hello = request;
    if (!request.job.empty() && !session.seat) attach_job(session, request.job);
    if (session.job) jobs_.tell_start(*session.job, request.start);
    answer["daemon"] = fmt::format("headwayd {}", version);
    answer["node"] = planner_.node_name();
    answer["cluster"] = planner_.own_cluster().name;
    answer["min_message_bytes"] = planner_.config().policy.min_message_bytes;
    answer["port_buffer_bytes"] = planner_.config().topology.least_host_buffer_bytes();
    answer["phases"] = phases_.has_value();
    answer["own_network"] = session.peer.has_own_network;
    answer["prefixes"] = Json::array();
    for (const IpPrefix& prefix : planner_.own_cluster().prefixes) {
        answer["prefixes"].push_back(prefix.to_string());
    }
    return answer;
}

Result<Json> ControlService::serve(ControlSession&, const ClustersRequest&, Json) {
    return failure("clusters: only a job's own planner answers that");
}

Result<Json> ControlService::serve(ControlSession& session, const JoinRequest& request, Json answer) {
    const bool is_new = !session.seat;
    if (is_new) attach_job(session, request.job);
    auto joined = phases_->join(session, request, std::move(answer));
    if (joined && is_new) phases_->learn_cgroup(session);
    return joined;
}

Result<Json> ControlService::serve(ControlSession& session, const PhaseRequest& request, Json answer) {
    if (auto known = learn_hosts(session, request.hosts); !known) {
        return tl::unexpected(known.error());
    }
    return phases_->phase(session, request, planner_, std::move(answer));
}

Result<Json> ControlService::serve(ControlSession& session, const TrafficRequest& request, Json answer) {
    const auto hosts = planner_.config().topology.resolve(request.hosts);
    if (!hosts) return tl::unexpected(hosts.error().within("hosts"));
    if (auto known = learn_hosts(session, *hosts); !known) return tl::unexpected(known.error());
    return phases_->traffic(session, request, planner_, std::move(answer));
}

Result<Json> ControlService::serve(ControlSession& session, const RateRequest& request, Json answer) {
    return phases_->rate(session, request, std::move(answer));
}

Result<Json> ControlService::serve(ControlSession&, const PlanRequest& request, Json answer) {
    const auto plan = planner_.plan_hosts(request);
    if (!plan) return tl::unexpected(plan.error());
    const Topology& topology = planner_.config().topology;
    answer.update(plan_json(topology, planner_.config().policy.plan, *plan));
    auto rates = class_rates(planner_.layout(), plan->shares.rates);
    if (const auto small = too_small(planner_.config().policy, request.message_bytes)) {
        answer["paced"] = false;
        answer["reason"] = *small;
        answer["predicted_paced"] = nullptr;
        rates.assign(rates.size(), std::nullopt);
    }
    if (request.message_bytes) answer["message_bytes"] = *request.message_bytes;
    answer["node"] = planner_.node_name();
    answer["classes"] = class_rates_json(topology, planner_.layout(), rates);
    return answer;
}

Result<Json> ControlService::serve(ControlSession& session, const PrepareRequest& request, Json answer) {
    const auto pattern = planner_.pattern_of(request.hosts);
    if (!pattern) return tl::unexpected(pattern.error());
    const auto plan = planner_.plan(*pattern, std::nullopt);
    if (!plan) return tl::unexpected(plan.error());
    if (auto known = learn_hosts(session, request.hosts); !known) {
        return tl::unexpected(known.error());
    }

    const auto small = too_small(planner_.config().policy, request.message_bytes);
    const auto id = sessions_.remember(session, {*pattern});
    if (!id) return tl::unexpected(id.error());
    answer["pattern"] = *id;
    answer["paced"] = plan->paced && !small;
    answer["reason"] = small.value_or(plan->reason);
    answer["min_message_bytes"] = planner_.config().policy.min_message_bytes;
    const auto sized = planner_.plan(*pattern, size_to_plan(*pattern, request.message_bytes));
    if (!sized) return tl::unexpected(sized.error());
    if (auto algorithm = algorithm_json(*sized); !algorithm.is_null()) {
        answer["algorithm"] = std::move(algorithm);
    }
    if (plan->paced) {
        answer["rates"] =
            class_rates_json(planner_.config().topology, planner_.layout(),
                             sharing_.shared_rates(session.job, {std::nullopt, {}, plan->rates}));
    }
    return answer;
}

Result<NodePlan> ControlService::plan_of(ControlSession& session,
                                         const EnterRequest& request) const {
    if (const auto* hosts = std::get_if<CollectiveHosts>(&request.who)) {
        return planner_.plan(*hosts, request.message_bytes);
    }
    if (auto small = too_small(planner_.config().policy, request.message_bytes)) {
        return NodePlan{false, std::move(*small), {}};
    }
    const std::uint64_t id = std::get<std::uint64_t>(request.who);
    const auto known = session.patterns.find(id);
    if (known == session.patterns.end()) {
        const bool was_prepared = id > 0 && id <= session.last_pattern;
        return failure("pattern {} was {} this connection", id,
                       was_prepared ? "forgotten because others were used since: prepare it again on"
                                    : "not prepared on");
    }
    PreparedPattern& prepared = known->second;
    prepared.used = ++session.uses;
    if (!prepared.is_current) {
        return failure("pattern {} is out of date, because the hosts of the topology changed; "
                       "prepare it again", id);
    }
    return planner_.plan(prepared.pattern, size_to_plan(prepared.pattern, request.message_bytes));
}

Result<Json> ControlService::serve(ControlSession& session, const EnterRequest& request, Json answer) {
    if (session.enters.size() >= enters_per_client_max) {
        return failure("a client may be in {} collectives at most", enters_per_client_max);
    }
    if (const auto* hosts = std::get_if<CollectiveHosts>(&request.who)) {
        if (auto known = learn_hosts(session, *hosts); !known) return tl::unexpected(known.error());
    }
    auto plan = plan_of(session, request);
    if (!plan) return tl::unexpected(plan.error());
    if (phases_ && !is_administrator(session.peer)) {
        *plan = {false, "this node has phases, by which a process limits its own job's packets; a "
                        "request would limit those of all", {}};
    }
    ActiveEnter entered{std::nullopt, std::move(plan->reason), std::move(plan->rates)};
    entered.is_uncontended = plan->is_uncontended;
    if (plan->is_uncontended) entered.rates.assign(planner_.layout().classes.size(), link_rate());
    auto rates = sharing_.shared_rates(session.job, entered);
    answer["paced"] = !rates.empty();
    // "prepare" has told a pattern's rates and reason, and whoever asks now waits in a collective.
    const bool tells_rates = !std::holds_alternative<std::uint64_t>(request.who);
    if (tells_rates || rates.empty()) answer["reason"] = entered.reason;
    if (!rates.empty()) {
        if (tells_rates) {
            answer["rates"] = class_rates_json(planner_.config().topology, planner_.layout(), rates);
        }
        const auto id = pacer_.enter(rates);
        if (!id) return tl::unexpected(id.error().within("the kernel"));
        entered.id = *id;
        entered.in_force = std::move(rates);
    }
    // A rank that only sends is through before its message has left, and then stays until this end.
    if (entered.id && plan->has_root && plan->predicted) answer["predicted"] = prediction_json(*plan->predicted);
    entered.number = session.enters.empty() ? 1 : session.enters.back().number + 1;
    answer["entered"] = entered.number;
    session.enters.push_back(std::move(entered));
    return answer;
}

Result<Json> ControlService::serve(ControlSession& session, const LeaveRequest& request, Json answer) {
    auto& enters = session.enters;
    if (enters.empty()) return failure("there is nothing to leave");
    const auto left =
        request.entered ? std::find_if(enters.begin(), enters.end(),
                                       [&](const ActiveEnter& one) {
                                           return one.number == *request.entered;
                                       })
                        : std::prev(enters.end());
    if (left == enters.end()) return failure("{} has not been entered", *request.entered);
    const auto entered = left->id;
    enters.erase(left);
    if (entered) pacer_.leave(std::span(&*entered, 1));
    return answer;
}

}  // namespace headway

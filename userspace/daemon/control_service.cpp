// SPDX-License-Identifier: Apache-2.0
// Sessions, the one table of requests, and the requests of processes in collectives.
#include "daemon/control_service.hpp"

#include <algorithm>
#include <iterator>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/version.hpp"
#include "jobs/plan_json.hpp"

namespace headway {

ControlService::ControlService(NodePlanner planner, BytesPerSecond link_rate,
                               TrafficControl& kernel, const Clock& clock)
    : planner_(std::move(planner)),
      link_rate_(link_rate),
      kernel_(kernel),
      clock_(clock),
      started_(clock.now()),
      pacer_(kernel_, clock, planner_.layout()) {
    // Whatever cannot be read now is asked for anew.
    (void)kernel_.root_qdisc();
    (void)kernel_.classes();
}

void ControlService::use_phases(PhaseMaps& maps, const PhaseProgram& program) {
    program_ = program;
    maps_ = &maps;
    phases_.emplace(jobs_, maps, kernel_, planner_.layout(), link_rate_);
}

// ------------------------------------------------------------------ sessions

Result<ControlService::SessionId> ControlService::open(const Peer& peer) {
    if (sessions_.size() >= clients_max) {
        return failure("too many clients ({})", sessions_.size());
    }
    std::size_t& of_user = sessions_of_user_[peer.uid];
    if (of_user >= clients_per_user_max) {
        return failure("too many clients of user {} ({})", peer.uid, of_user);
    }
    ++of_user;
    ControlSession session;
    session.peer = peer;
    sessions_.emplace(next_id_, std::move(session));
    return next_id_++;
}

void ControlService::close(SessionId id) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    std::vector<Pacer::EnterId> active;
    for (const ActiveEnter& entered : found->second.enters) {
        if (entered.id) active.push_back(*entered.id);
    }
    if (found->second.seat) ++job_changes_;
    const auto user = sessions_of_user_.find(found->second.peer.uid);
    if (--user->second == 0) sessions_of_user_.erase(user);
    if (phases_) phases_->leave(found->second);
    ControlSession ended = std::move(found->second);
    sessions_.erase(found);
    if (!active.empty()) pacer_.leave(active);
    detach_job(ended);
    settle_apart();
}

// --------------------------------------------------- what may be asked, and by whom

/// Within the service, because only requests reach what it does for them.
struct ControlService::Requests {
    template <class Body, auto handler>
    static Result<Json> serve(ControlService& service, ControlSession& session,
                              const RequestBody& body, Json answer) {
        return (service.*handler)(session, std::get<Body>(body), std::move(answer));
    }

    static constexpr auto anybody = Authority::anybody;
    static constexpr auto own_job = Authority::own_job;
    static constexpr auto administrator = Authority::administrator;
    static constexpr auto little = Cost::little;
    static constexpr auto planning = Cost::planning;
    using S = ControlService;

    static constexpr std::array<RequestKind, std::variant_size_v<RequestBody>> table{{
        {"hello", anybody, little, serve<HelloRequest, &S::hello>, "", true},
        {"status", anybody, planning, serve<StatusRequest, &S::status>},
        {"ready", anybody, little, serve<ReadyRequest, &S::ready>},
        {"plan", anybody, planning, serve<PlanRequest, &S::plan>},
        {"prepare", own_job, planning, serve<PrepareRequest, &S::prepare>, "", true},
        {"enter", own_job, planning, serve<EnterRequest, &S::enter>, "enter", true},
        {"leave", own_job, little, serve<LeaveRequest, &S::leave>, "leave", true},
        {"join", own_job, planning, serve<JoinRequest, &S::join>, "", false, true, true},
        {"phase", own_job, planning, serve<PhaseRequest, &S::phase>, "phase", false, true},
        {"traffic", own_job, planning, serve<TrafficRequest, &S::traffic>, "phase", false, true},
        {"rate", own_job, planning, serve<RateRequest, &S::rate>, "phase", false, true},
        {"job_start", own_job, planning, serve<StartJobRequest, &S::start_job>},
        {"job_end", own_job, planning, serve<EndJobRequest, &S::end_job>},
        {"jobs", anybody, planning, serve<JobsRequest, &S::list_jobs>},
        {"more", anybody, little, serve<MoreRequest, &S::more>},
        {"off", administrator, little, serve<OffRequest, &S::switch_off>},
        {"on", administrator, little, serve<OnRequest, &S::switch_on>},
    }};
};

std::span<const RequestKind> request_kinds() { return ControlService::Requests::table; }

const RequestKind* find_request(std::string_view name) {
    const auto kinds = request_kinds();
    const auto found = std::ranges::find(kinds, name, &RequestKind::name);
    return found == kinds.end() ? nullptr : &*found;
}

std::optional<std::string> beyond_own_job(const RequestBody& body, uid_t user) {
    const auto* const start = std::get_if<StartJobRequest>(&body);
    const auto* const end = std::get_if<EndJobRequest>(&body);
    const auto uid = start != nullptr ? start->uid : end != nullptr ? end->uid : std::nullopt;
    if (uid && *uid != user) return "start and end jobs of other users";
    if (start == nullptr) return std::nullopt;
    if (start->weight > 1) return "give a job a weight of more than 1";
    if (start->is_lasting) return "start a job that lasts until it is ended by command";
    if (start->is_alltoall || !start->flows.empty()) {
        return "give a job a pattern, which paces all that the node sends";
    }
    return std::nullopt;
}

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

// ------------------------------------------------------------------- requests

ControlAnswer ControlService::answer(SessionId id, std::string_view datagram) {
    const auto found = sessions_.find(id);
    const auto refuse = [](const std::optional<std::uint64_t>& request_id, std::string_view why) {
        return ControlAnswer{json_text(make_refusal(request_id, why))};
    };
    if (found == sessions_.end()) return refuse(std::nullopt, "no session");
    if (datagram.size() > datagram_max_bytes) {
        return refuse(std::nullopt,
                      fmt::format("a request has at most {} bytes", datagram_max_bytes));
    }

    const auto begin = clock_.now();
    ControlSession& session = found->second;
    const Request request = parse_request(datagram);
    if (!request.body) return refuse(request.id, request.body.error().message);
    const RequestKind& kind = *find_request(request.op);
    const auto result = serve(session, kind, *request.body, make_answer(request.id));
    auto text = result ? in_pieces(session, request.id, json_text(*result))
                       : Result<std::string>(tl::unexpected(result.error()));
    ControlAnswer answer = text ? ControlAnswer{std::move(*text)} : refuse(request.id, text.error().message);
    const auto took = clock_.now() - begin;
    if (kind.cost == Cost::planning) answer.charged = took;
    if (!text) return answer;
    if (!kind.timed_as.empty()) latencies_[kind.timed_as].add(took);
    if (kind.gives_slots) answer.fd = phases_->slots_fd(session);
    return answer;
}

Result<Json> ControlService::serve(ControlSession& session, const RequestKind& kind,
                                   const RequestBody& body, Json answer) {
    if (auto may = may_ask(session.peer, kind, body); !may) return tl::unexpected(may.error());
    if (kind.needs_phases && !phases_) {
        return failure("headwayd has no phases on this node; use enter and leave");
    }
    auto result = kind.serve(*this, session, body, std::move(answer));
    if (session.seat && kind.is_handed_on) {
        ++session.handed_changes;
        ++session_changes_;
    }
    settle_apart();
    if (result) tell_off(*result);
    return result;
}

// --------------------------------------------------------------------------- answers

Result<Json> ControlService::hello(ControlSession& session, const HelloRequest& request,
                                   Json answer) {
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

Result<Json> ControlService::join(ControlSession& session, const JoinRequest& request,
                                  Json answer) {
    const bool is_new = !session.seat;
    if (is_new) attach_job(session, request.job);
    auto joined = phases_->join(session, request, std::move(answer));
    if (joined && is_new) learn_cgroup(session);
    return joined;
}

Result<Json> ControlService::phase(ControlSession& session, const PhaseRequest& request,
                                   Json answer) {
    if (auto known = learn_hosts(session, request.hosts); !known) {
        return tl::unexpected(known.error());
    }
    return phases_->phase(session, request, planner_, std::move(answer));
}

Result<Json> ControlService::traffic(ControlSession& session, const TrafficRequest& request,
                                     Json answer) {
    const auto hosts = planner_.config().topology.resolve(request.hosts);
    if (!hosts) return tl::unexpected(hosts.error().within("hosts"));
    if (auto known = learn_hosts(session, *hosts); !known) return tl::unexpected(known.error());
    return phases_->traffic(session, request, planner_, std::move(answer));
}

Result<Json> ControlService::rate(ControlSession& session, const RateRequest& request, Json answer) {
    return phases_->rate(session, request, std::move(answer));
}

Result<Json> ControlService::plan(ControlSession&, const PlanRequest& request, Json answer) {
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

Result<Json> ControlService::prepare(ControlSession& session, const PrepareRequest& request,
                                     Json answer) {
    const auto pattern = planner_.pattern_of(request.hosts);
    if (!pattern) return tl::unexpected(pattern.error());
    const auto plan = planner_.plan(*pattern, std::nullopt);
    if (!plan) return tl::unexpected(plan.error());
    if (auto known = learn_hosts(session, request.hosts); !known) {
        return tl::unexpected(known.error());
    }

    const auto small = too_small(planner_.config().policy, request.message_bytes);
    const auto id = remember(session, {*pattern});
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
                             shared_rates(session.job, {std::nullopt, {}, plan->rates}));
    }
    return answer;
}

/// The pattern's id.  A pattern known already keeps its id.  Where there are too
/// many, the one that was not used for longest goes; its id is not given again.
Result<std::uint64_t> ControlService::remember(ControlSession& session,
                                               PreparedPattern prepared) {
    auto& patterns = session.patterns;
    const auto known = std::find_if(patterns.begin(), patterns.end(), [&](const auto& other) {
        return other.second.pattern == prepared.pattern;
    });
    if (known == patterns.end() && patterns.size() < patterns_per_client_max &&
        session.peer.uid != 0 && patterns_of(session.peer.uid) >= patterns_per_user_max) {
        return failure("user {} has prepared {} patterns, and may have no more", session.peer.uid,
                       patterns_per_user_max);
    }
    const std::uint64_t id = known != patterns.end() ? known->first : ++session.last_pattern;
    if (known == patterns.end() && patterns.size() >= patterns_per_client_max) {
        patterns.erase(std::min_element(
            patterns.begin(), patterns.end(),
            [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
    }
    prepared.used = ++session.uses;
    patterns.insert_or_assign(id, std::move(prepared));
    return id;
}

std::size_t ControlService::patterns_of(uid_t user) const {
    std::size_t count = 0;
    for (const auto& [id, session] : sessions_) {
        if (session.peer.uid == user) count += session.patterns.size();
    }
    return count;
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

/// The rates of a collective as the kernel is to have them; empty: none.
std::vector<ClassRate> ControlService::shared_rates(std::optional<JobId> job,
                                                    const ActiveEnter& entered) const {
    const std::vector<LinkPart> parts = job ? jobs_.at(*job).parts : std::vector<LinkPart>{};
    if (entered.rates.empty() || (parts.empty() && entered.is_uncontended)) return {};
    std::vector<ClassRate> rates = entered.rates;
    const BytesPerSecond slowest{link_rate_.value / slowest_rate_divisor};
    for (std::size_t i = 0; i < rates.size(); ++i) {
        if (i < parts.size()) rates[i] = part_of(rates[i], parts[i], link_rate_);
        if (rates[i]) rates[i] = std::max(*rates[i], slowest);  // it holds for the whole node
    }
    return rates;
}

Result<Json> ControlService::enter(ControlSession& session, const EnterRequest& request,
                                   Json answer) {
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
    if (plan->is_uncontended) entered.rates.assign(planner_.layout().classes.size(), link_rate_);
    auto rates = shared_rates(session.job, entered);
    answer["paced"] = !rates.empty();
    // Of a pattern prepare told both, and who waits for this answer waits in a collective.
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

Result<Json> ControlService::leave(ControlSession& session, const LeaveRequest& request,
                                   Json answer) {
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

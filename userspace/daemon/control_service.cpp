// SPDX-License-Identifier: Apache-2.0
#include "daemon/control_service.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/limits.hpp"
#include "base/version.hpp"
#include "gap_attr.h"
#include "jobs/plan_json.hpp"

namespace headway {
namespace {

double in_microseconds(std::chrono::nanoseconds duration) {
    return static_cast<double>(duration.count()) / 1000.0;
}

Json latency_json(const LatencyStats& stats) {
    return {{"count", stats.count()},
            {"last_us", in_microseconds(stats.last())},
            {"mean_us", in_microseconds(stats.mean())},
            {"max_us", in_microseconds(stats.max())}};
}

/// True if both configurations put the same things into the kernel and listen
/// on the same socket.
bool same_set_up(const NodePlanner& a, const NodePlanner& b) {
    const auto& clusters_a = a.config().topology.clusters();
    const auto& clusters_b = b.config().topology.clusters();
    const auto same_cluster = [](const Cluster& x, const Cluster& y) {
        return x.name == y.name && x.prefixes == y.prefixes;
    };
    return std::equal(clusters_a.begin(), clusters_a.end(), clusters_b.begin(), clusters_b.end(),
                      same_cluster) &&
           a.layout().own_cluster == b.layout().own_cluster && a.node_name() == b.node_name() &&
           a.config().node.interface == b.config().node.interface &&
           a.config().kernel.phases == b.config().kernel.phases &&
           a.config().coordination == b.config().coordination &&
           a.shared_trunk() == b.shared_trunk() &&
           a.config().daemon.socket == b.config().daemon.socket &&
           a.config().daemon.group == b.config().daemon.group;
}

bool same_hosts(const Topology& a, const Topology& b) {
    return std::equal(a.clusters().begin(), a.clusters().end(), b.clusters().begin(),
                      b.clusters().end(),
                      [](const Cluster& x, const Cluster& y) { return x.hosts == y.hosts; });
}

}  // namespace

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

// ------------------------------------------------------------------- requests

ControlAnswer ControlService::answer(SessionId id, std::string_view datagram) {
    const auto found = sessions_.find(id);
    const auto refuse = [](const std::optional<std::uint64_t>& request_id, std::string_view why) {
        return ControlAnswer{to_datagram(make_refusal(request_id, why))};
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
    auto text = result ? in_pieces(session, request.id, to_datagram(*result))
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

// ---------------------------------------------------------------------- long answers

namespace {

/// As a string within JSON it is at most twice as long, but for control characters, of
/// which JSON has none.
constexpr std::size_t piece_max_bytes = datagram_max_bytes / 2 - 256;

/// From the beginning, and not within a character.
std::string take_piece(std::string& text) {
    std::size_t length = std::min(piece_max_bytes, text.size());
    while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xc0U) == 0x80) --length;
    std::string piece = text.substr(0, length);
    text.erase(0, length);
    return piece;
}

}  // namespace

/// An answer that does not fit is told as text, piece by piece.
Result<std::string> ControlService::in_pieces(ControlSession& session,
                                              const std::optional<std::uint64_t>& id,
                                              std::string text) {
    if (text.size() <= datagram_max_bytes) return text;
    std::size_t kept = text.size();
    for (const auto& [number, other] : sessions_) {
        if (other.peer.uid == session.peer.uid && &other != &session) kept += other.left.size();
    }
    if (kept > long_answers_per_user_max_bytes) {
        return failure("user {} has not fetched {} bytes of long answers yet", session.peer.uid, kept);
    }
    session.left = std::move(text);
    auto first = more(session, {}, make_answer(id));
    if (!first) return tl::unexpected(first.error());
    return to_datagram(*first);
}

Result<Json> ControlService::more(ControlSession& session, const MoreRequest&, Json answer) {
    if (session.left.empty()) return failure("there is no answer of which more is to come");
    answer["text"] = take_piece(session.left);
    answer["left"] = session.left.size();
    if (session.left.empty()) session.left.shrink_to_fit();
    return answer;
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

// --------------------------------------------------------------------- status

Json ControlService::daemon_json() const {
    const Config& config = planner_.config();
    return {{"version", version},
            {"pid", getpid()},
            {"uptime_s", std::chrono::duration<double>(clock_.now() - started_).count()},
            {"config", config.file},
            {"node", planner_.node_name()},
            {"cluster", planner_.own_cluster().name},
            {"interface", config.node.interface},
            {"link_bits_per_s", link_rate_.bits().value},
            {"min_message_bytes", config.policy.min_message_bytes},
            {"phases", phases_.has_value()},
            {"backend", backend_},
            {"backend_reason", backend_reason_},
            {"disputed_cgroups", phases_ ? phases_->jobs().cgroups().disputed() : 0}};
}

Json ControlService::classes_json(const std::vector<ClassState>& states) const {
    const KernelLayout& layout = planner_.layout();
    Json list = Json::array();
    for (std::size_t i = 0; i < layout.classes.size(); ++i) {
        const ClassLayout& target = layout.classes[i];
        Json entry{{"classid", target.classid.to_string()},
                   {"cluster", planner_.config().topology.clusters()[target.cluster].name},
                   {"wanted_bytes_per_s", rate_json(pacer_.wanted(i))}};
        const auto state = std::find_if(states.begin(), states.end(), [&](const ClassState& s) {
            return s.classid == target.classid;
        });
        entry["in_kernel"] = state != states.end();
        if (state != states.end()) {
            entry["bytes_per_s"] = rate_json(state->rate);
            entry["wire_bytes"] = state->wire_bytes;
            entry["packets"] = state->packets;
            // Its children's count to its packets, but only they queue any.
            std::uint64_t drops = state->drops, backlog_bytes = state->backlog_bytes;
            for (const ClassState& child : states) {
                if (child.parent != target.classid) continue;
                drops += child.drops;
                backlog_bytes += child.backlog_bytes;
            }
            entry["drops"] = drops;
            entry["backlog_bytes"] = backlog_bytes;
        }
        list.push_back(std::move(entry));
    }
    return list;
}

Json ControlService::clients_json() {
    Json list = Json::array();
    for (const auto& [id, session] : sessions_) {
        if (list.size() == clients_in_status_max) break;
        Json entry{{"pid", session.peer.pid},
                   {"uid", session.peer.uid},
                   {"own_network", session.peer.has_own_network}};
        if (session.hello) {
            entry["job"] = session.hello->job;
            entry["rank"] = session.hello->rank;
            entry["claimed_pid"] = session.hello->pid;
        }
        entry["patterns"] = session.patterns.size();
        entry["enters"] = session.enters.size();
        if (!session.enters.empty()) {
            entry["paced"] = !off_ && session.enters.back().id.has_value();
            entry["reason"] = session.enters.back().reason;
        }
        if (session.seat) {
            entry["slot"] = session.seat->slot;
            entry["phase"] = phases_->jobs().phase_in(*session.seat);
        }
        list.push_back(std::move(entry));
    }
    return list;
}

Result<Json> ControlService::ready(ControlSession&, const ReadyRequest&, Json answer) {
    answer["in_step"] = is_in_step();
    return answer;
}

Result<Json> ControlService::status(ControlSession&, const StatusRequest&, Json answer) {
    const auto states = kernel_.classes();
    answer["daemon"] = daemon_json();
    answer["kernel_error"] = states ? Json(nullptr) : Json(states.error().message);
    answer["in_step"] = is_in_step();
    answer["off"] = nullptr;
    answer["reconcile"] = reconcile_json();
    answer["classes"] = classes_json(states.value_or(std::vector<ClassState>{}));
    answer["active_enters"] = pacer_.active();
    answer["client_count"] = sessions_.size();
    answer["clients"] = clients_json();
    answer["jobs"] = jobs_json(jobs_in_status_max, true);
    answer["coordination"] = coordination_ ? coordination_() : Json(nullptr);
    answer["feedback"] = feedback_ ? feedback_() : Json(nullptr);
    for (const char* timed : {"enter", "leave", "phase"}) answer[timed] = latency_json(latencies_[timed]);
    return answer;
}

// --------------------------------------------------------------------- reload

Result<void> ControlService::reload(Config config) {
    auto next = NodePlanner::make(std::move(config), planner_.node_name());
    if (!next) return tl::unexpected(next.error());
    if (!same_set_up(planner_, *next)) {
        return failure("it changes the node, the interface, the socket, the way to the kernel, "
                       "the coordination or the trunk that it is about, or the clusters' names, "
                       "order or prefixes, which needs a restart");
    }
    if (next->own_cluster().host_rate > link_rate_.bits()) {
        return failure("host_rate is {}, but the interface drives a link of {}",
                       rate_to_text(next->own_cluster().host_rate),
                       rate_to_text(link_rate_.bits()));
    }
    const bool keep_patterns = same_hosts(planner_.config().topology, next->config().topology);
    for (auto& [id, session] : sessions_) {
        for (auto& [number, prepared] : session.patterns) prepared.is_current &= keep_patterns;
    }
    next->distrust(planner_.divisor_factor());
    const HostNames names = names_of_hosts();
    planner_ = std::move(*next);
    renumber_hosts(names);
    plan_anew();
    return {};
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "daemon/control_service.hpp"

namespace headway {

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

}  // namespace headway

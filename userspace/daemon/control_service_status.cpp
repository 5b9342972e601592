// SPDX-License-Identifier: Apache-2.0
// What the service tells of itself, and how it tells more than fits into an answer.
#include <algorithm>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "daemon/control_service.hpp"
#include "jobs/plan_json.hpp"

namespace headway {

// ---------------------------------------------------------------------- long answers

/// An answer that does not fit is told as text, piece by piece.
Result<std::string> ControlService::in_pieces(ControlSession& session,
                                              const std::optional<std::uint64_t>& id,
                                              std::string text) {
    if (text.size() <= datagram_max_bytes) return text;
    if (auto kept = sessions_.begin_long_answer(session, std::move(text)); !kept) {
        return tl::unexpected(kept.error());
    }
    return json_text(*serve(session, MoreRequest{}, make_answer(id)));
}

Result<Json> ControlService::serve(ControlSession& session, const MoreRequest&, Json answer) {
    auto piece = sessions_.next_piece(session);
    if (!piece) return failure("there is no answer of which more is to come");
    answer["text"] = std::move(*piece);
    answer["left"] = session.long_answer.size() - session.fetched_bytes;
    return answer;
}

// --------------------------------------------------------------------- status

Json ControlService::daemon_json() const {
    const Config& config = planner_.config();
    Json daemon{{"config", config.file},
                {"node", planner_.node_name()},
                {"cluster", planner_.own_cluster().name},
                {"interface", config.node.interface},
                {"link_bits_per_s", link_rate().bits().value},
                {"min_message_bytes", config.policy.min_message_bytes},
                {"phases", phases_.has_value()},
                {"disputed_cgroups", phases_ ? phases_->jobs().cgroups().disputed() : 0}};
    status_.tell_daemon(daemon);
    return daemon;
}

Json ControlService::classes_json(const std::vector<ClassState>& states) const {
    const KernelLayout& layout = planner_.layout();
    Json list = Json::array();
    for (std::size_t i = 0; i < layout.classes.size(); ++i) {
        const ClassLayout& target = layout.classes[i];
        Json entry = object_for(10);
        entry["classid"] = target.classid.to_string();
        entry["cluster"] = planner_.config().topology.clusters()[target.cluster].name;
        entry["wanted_bytes_per_s"] = rate_json(pacer_.wanted(i));
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
            std::optional<std::uint32_t> burst_bytes = state->burst_bytes;
            for (const ClassState& child : states) {
                if (child.parent != target.classid) continue;
                drops += child.drops;
                backlog_bytes += child.backlog_bytes;
                if (child.classid == shared_class(target.classid)) burst_bytes = child.burst_bytes;
            }
            entry["burst_bytes"] = burst_bytes ? Json(*burst_bytes) : Json(nullptr);
            entry["drops"] = drops;
            entry["backlog_bytes"] = backlog_bytes;
        }
        list.push_back(std::move(entry));
    }
    return list;
}

Json ControlService::clients_json() {
    Json list = Json::array();
    for (const auto& [id, session] : sessions_.all()) {
        if (list.size() == clients_in_status_max) break;
        Json entry = object_for(12);
        entry["pid"] = session.peer.pid;
        entry["uid"] = session.peer.uid;
        entry["own_network"] = session.peer.has_own_network;
        if (session.hello) {
            entry["job"] = session.hello->job;
            entry["rank"] = session.hello->rank;
            entry["claimed_pid"] = session.hello->pid;
        }
        entry["patterns"] = session.patterns.size();
        entry["enters"] = session.enters.size();
        if (!session.enters.empty()) {
            entry["paced"] = !off() && session.enters.back().id.has_value();
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

Result<Json> ControlService::serve(ControlSession&, const ReadyRequest&, Json answer) {
    answer["in_step"] = is_in_step();
    return answer;
}

Result<Json> ControlService::serve(ControlSession&, const StatusRequest&, Json answer) {
    const auto states = kernel_.classes();
    answer["daemon"] = daemon_json();
    answer["kernel_error"] = states ? Json(nullptr) : Json(states.error().message);
    answer["in_step"] = is_in_step();
    answer["off"] = nullptr;
    answer["classes"] = classes_json(states.value_or(std::vector<ClassState>{}));
    answer["active_enters"] = pacer_.active();
    answer["client_count"] = clients();
    answer["clients"] = clients_json();
    answer["jobs"] = jobs_json(jobs_in_status_max, true);
    status_.tell(answer);
    return answer;
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// What the service tells of itself, and how it tells more than fits into an answer.
#include <unistd.h>

#include <algorithm>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/version.hpp"
#include "daemon/control_service.hpp"
#include "jobs/plan_json.hpp"

namespace headway {
namespace {

double in_microseconds(std::chrono::nanoseconds duration) {
    return static_cast<double>(duration.count()) / 1000.0;
}

/// An object of so many members at most, which are put into it without moving those before.
Json object_for(std::size_t members) {
    Json object = Json::object();
    object.get_ref<Json::object_t&>().reserve(members);
    return object;
}

Json latency_json(const LatencyStats& stats) {
    const auto mean = stats.total / std::max<std::uint64_t>(stats.count, 1);
    return {{"count", stats.count},
            {"last_us", in_microseconds(stats.last)},
            {"mean_us", in_microseconds(mean)},
            {"max_us", in_microseconds(stats.max)}};
}

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

// ---------------------------------------------------------------------- long answers

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
    return json_text(*first);
}

Result<Json> ControlService::more(ControlSession& session, const MoreRequest&, Json answer) {
    if (session.left.empty()) return failure("there is no answer of which more is to come");
    answer["text"] = take_piece(session.left);
    answer["left"] = session.left.size();
    if (session.left.empty()) session.left.shrink_to_fit();
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
        Json entry = object_for(9);
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

Json ControlService::reconcile_json() const {
    if (reconciled_ == nullptr) return nullptr;
    const auto& failed = reconciled_->failed;
    const auto told = static_cast<std::ptrdiff_t>(std::min(failed.size(), failed_in_status_max));
    return {{"passes", reconciled_->passes},
            {"mended", reconciled_->mended},
            {"error", reconciled_->error ? Json(reconciled_->error->message) : Json(nullptr)},
            {"failed_count", failed.size()},
            {"failed", std::vector<std::string>(failed.begin(), failed.begin() + told)}};
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

}  // namespace headway

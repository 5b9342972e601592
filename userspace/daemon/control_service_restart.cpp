// SPDX-License-Identifier: Apache-2.0
// Processes that have joined, over a restart of the daemon.
#include <algorithm>

#include "base/hostlist.hpp"
#include "base/limits.hpp"
#include "daemon/control_service.hpp"
#include "trunk/member_record.hpp"

namespace headway {

/// Writes what the numbers of trunks and the classes of phases stand for.
std::string ControlService::set_up_text() const {
    const Config& config = planner_.config();
    std::string text = config.node.interface + " " + planner_.node_name();
    for (const ClassLayout& target : planner_.layout().classes) {
        const Cluster& cluster = config.topology.clusters()[target.cluster];
        text += fmt::format("\n{} {}", target.classid.to_string(), cluster.name);
        for (const IpPrefix& prefix : cluster.prefixes) text += " " + prefix.to_string();
    }
    return fmt::format("{:016x}", text_digest(text));
}

std::optional<PhaseSeat> ControlService::seat_of(SessionId id) const {
    const auto* const session = sessions_.find(id);
    return session == nullptr ? std::nullopt : session->seat;
}

std::uint64_t ControlService::handed_job_changes() const {
    return jobs_.host_changes() + (phases_ ? phases_->changes() : 0);
}

HandedState ControlService::handed_jobs() const {
    HandedState state;
    if (!phases_) return state;
    state.set_up = set_up_text();
    state.is_incomplete = phases_->earlier_program().has_value();
    state.jobs = phases_->jobs().kept();
    for (const auto& [number, id] : phases_->jobs().numbers()) {
        const auto& hosts = jobs_.at(id).hosts;
        if (hosts) state.hosts.emplace(number, format_hostlist(planner_.config().topology.names_of(*hosts)));
    }
    return state;
}

void ControlService::for_each_joined(
    const std::function<void(SessionId, std::uint64_t changes)>& tell) const {
    for (const auto& [id, session] : sessions_.all()) {
        if (session.seat) tell(id, session.handed_changes);
    }
}

std::string ControlService::handed_text_of(SessionId joined) const {
    const ControlSession& session = sessions_.all().at(joined);
    const auto& cgroups = phases_->jobs().phases_of(session.seat->job).cgroups;
    const auto cgroup = cgroups.find(session.seat->slot);
    return handed_client_text(session,
                              cgroup == cgroups.end() ? std::nullopt : std::optional(cgroup->second));
}

Result<std::map<PhaseSeat, ControlService::SessionId>> ControlService::restore_clients(
    HandedState state, std::vector<KeptArray> arrays, const std::map<PhaseSeat, Peer>& peers) {
    if (state.clients.empty()) return std::map<PhaseSeat, SessionId>{};
    if (!phases_) return failure("there are no phases any more");
    if (state.set_up != set_up_text()) {
        return failure("it is of other clusters, or of another interface");
    }
    for (const auto& [seat, peer] : peers) {
        const auto job = state.jobs.find(seat.job);
        const bool is_its_job = job != state.jobs.end() && job->second.user == peer.uid;
        const auto client = state.clients.find(seat);
        if (!is_its_job || client == state.clients.end()) continue;
        job->second.slots.insert(seat.slot);
        if (client->second.cgroup) job->second.cgroups.emplace(seat.slot, *client->second.cgroup);
    }
    const auto restored = phases_->restore(state.jobs, std::move(arrays));
    if (!restored) return tl::unexpected(restored.error());
    std::map<PhaseSeat, SessionId> sessions;
    for (const auto& [seat, peer] : peers) {
        if (!restored->contains(seat.job) || !state.jobs.at(seat.job).slots.contains(seat.slot)) continue;
        const auto id = sessions_.open_again(peer, account_of(peer));
        if (!id) return tl::unexpected(id.error());
        take_up(*sessions_.find(*id), seat, std::move(state.clients.at(seat)));
        sessions.emplace(seat, *id);
    }
    for (const std::uint32_t number : *restored) {
        const auto hosts = state.hosts.find(number);
        if (hosts != state.hosts.end()) take_up_hosts(number, hosts->second);
    }
    sharing_.share_or_retry();
    settle_apart();
    return sessions;
}

/// The session goes on as if the client had said all that on this connection.
void ControlService::take_up(ControlSession& session, const PhaseSeat& seat, HandedClient client) {
    session.hello = std::move(client.hello);
    session.last_pattern = client.last_pattern;
    session.enters = std::move(client.enters);
    const std::size_t classes = planner_.layout().classes.size();
    for (ActiveEnter& entered : session.enters) {
        if (!entered.rates.empty()) entered.rates.resize(classes);
    }
    session.seat = seat;
    const Job& job = phases_->jobs().job(seat.job);
    if (!job.phases->cgroups.contains(seat.slot)) phases_->learn_cgroup(session);  // an older run did not tell
    attach_job(session, job.name);
    if (session.hello) jobs_.tell_start(*session.job, session.hello->start);
}

/// Hosts that are not in the topology any more are not known: its processes will
/// name others.
void ControlService::take_up_hosts(std::uint32_t number, const std::string& hosts) {
    const auto names = parse_hostlist(hosts);
    if (!names) return;
    const auto known = planner_.config().topology.resolve(*names);
    if (known) (void)jobs_.learn(phases_->jobs().numbers().at(number), *known);
}

}  // namespace headway

// SPDX-License-Identifier: MIT
#include "own_pacing.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "size_limits.hpp"

namespace headway::glue {

using Time = SendClock::Clock::time_point;

LinkResult<OwnPacing> OwnPacing::begin(const PlannerPlan& plan, const JobHosts& hosts,
                                       const std::string& own_host, bool siblings_disjoint) {
    const auto& names = hosts.names();
    const auto own = std::find(names.begin(), names.end(), own_host);
    if (own == names.end())
        return tl::unexpected(LinkError{own_host + " is none of the job's hosts", false});
    auto planning = JobPlanning::start(plan, hosts, siblings_disjoint);
    if (!planning) return tl::unexpected(planning.error());
    auto network = planning->look_at();
    if (!network) return tl::unexpected(network.error());
    const auto unknown = std::find(network->clusters.begin(), network->clusters.end(), "");
    if (unknown != network->clusters.end()) {
        const auto at = static_cast<std::size_t>(unknown - network->clusters.begin());
        return tl::unexpected(
            LinkError{names[at] + " is in no cluster of " + network->name, false});
    }
    return OwnPacing(std::move(*planning), hosts, std::move(network->clusters),
                     static_cast<std::size_t>(own - names.begin()));
}

std::string OwnPacing::enter(const PatternKey& key, std::uint64_t bytes, Time now) {
    leave();
    std::set<std::string> among;
    for (const int host : key.hosts) among.insert(cluster_of_host_[static_cast<std::size_t>(host)]);
    const PlannedPattern pattern{key, {among.begin(), among.end()}};
    const PlannedCall* const call = planning_.plan(pattern, bytes);
    if (call == nullptr) return "the planner has no answer";
    if (!call->is_paced) return call->reason;
    piece_bytes_ = call->piece_frames * frame_payload_bytes;
    limits_.resize(cluster_of_host_.size());
    const auto from =
        static_cast<std::size_t>(std::distance(among.begin(), among.find(cluster_of_host_[own_])));
    const auto rates = std::span(call->bytes_per_s).subspan(from * among.size(), among.size());
    for (std::size_t to = 0; to < rates.size(); ++to) {
        // a node's processes have an equal part each
        const std::uint64_t of_process = rates[to] / hosts_->ranks_per_host();
        if (of_process > 0) limit(receivers_in(pattern.clusters[to], key), of_process, now);
    }
    exactly_ = std::make_unique<ExactPauses>();
    return "";
}

void OwnPacing::leave() {
    limits_.clear();
    clocks_.clear();
    exactly_.reset();
}

MaySend OwnPacing::may_send(std::size_t host, std::size_t bytes, Time now) {
    if (host >= limits_.size() || limits_[host].cluster == nullptr || bytes == 0)
        return {bytes, {}};
    Limit& limit = limits_[host];
    const Time due = std::max(limit.clock.due(), limit.cluster->due());
    if (due > now) return {0, due - now};
    const std::size_t piece = std::min<std::size_t>(bytes, piece_bytes_);
    const std::uint64_t wire_bytes = wire_bytes_of_payload(piece);
    limit.clock.send(wire_bytes, now);
    limit.cluster->send(wire_bytes, now);
    return {piece, {}};
}

/// Who gets a message of this process, the host at this one's place first.
std::vector<std::size_t> OwnPacing::receivers_in(const std::string& cluster,
                                                 const PatternKey& key) const {
    std::vector<std::size_t> members;
    std::size_t own_place = 0;
    for (std::size_t host = 0; host < cluster_of_host_.size(); ++host) {
        if (host < own_ && cluster_of_host_[host] == cluster_of_host_[own_]) ++own_place;
        if (cluster_of_host_[host] == cluster) members.push_back(host);
    }
    const auto first = members.begin() + static_cast<std::ptrdiff_t>(own_place % members.size());
    std::rotate(members.begin(), first, members.end());
    std::erase(members, own_);
    const auto root = static_cast<std::size_t>(key.root_host);
    const bool is_to_root =
        key.operation == Operation::gather || key.operation == Operation::gatherv;
    if (is_to_root) std::erase_if(members, [&](std::size_t host) { return host != root; });
    return members;
}

void OwnPacing::limit(const std::vector<std::size_t>& receivers, std::uint64_t bytes_per_s,
                      Time now) {
    if (receivers.empty()) return;
    SendClock& cluster = clocks_.emplace_back(bytes_per_s, now);
    const std::uint64_t of_host = std::max<std::uint64_t>(bytes_per_s / receivers.size(), 1);
    Time turn = now;
    for (const std::size_t host : receivers) {
        limits_[host] = {SendClock(of_host, turn), &cluster};
        turn += cluster.time_of(wire_bytes_of_payload(piece_bytes_));
    }
}

}  // namespace headway::glue

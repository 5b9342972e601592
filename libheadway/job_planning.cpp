// SPDX-License-Identifier: MIT
#include "job_planning.hpp"

#include <algorithm>

namespace headway::glue {
namespace {

/// The answer's rows and columns are in the order of its own list of clusters.
std::vector<std::uint64_t> in_order_of(const std::vector<std::string>& clusters,
                                       const JsonObject& answer) {
    const auto theirs = answer.texts("clusters");
    const auto rates = answer.whole_numbers("bytes_per_s");
    if (theirs.size() != clusters.size() || rates.size() != theirs.size() * theirs.size())
        return {};
    std::vector<std::size_t> places;
    for (const std::string& name : clusters) {
        const auto found = std::find(theirs.begin(), theirs.end(), name);
        if (found == theirs.end()) return {};
        places.push_back(static_cast<std::size_t>(found - theirs.begin()));
    }
    std::vector<std::uint64_t> ordered;
    for (const std::size_t from : places) {
        for (const std::size_t to : places) ordered.push_back(rates[from * theirs.size() + to]);
    }
    return ordered;
}

PlannedCall read_call(const JsonObject& answer, Algorithm able,
                      const std::vector<std::string>& clusters) {
    PlannedCall call;
    call.algorithm = algorithm_of(answer) == able ? able : Algorithm::native;
    call.is_lossless = answer.flag("lossless").value_or(false);
    call.reason = answer.text("reason").value_or("");
    call.predicted = time_in(answer, "predicted");
    if (answer.flag("paced").value_or(false)) call.bytes_per_s = in_order_of(clusters, answer);
    call.is_paced = !call.bytes_per_s.empty();
    call.piece_frames = std::clamp<std::uint64_t>(answer.whole_number("piece_frames").value_or(1),
                                                  1, piece_frames_max);
    return call;
}

}  // namespace

LinkResult<JobPlanning> JobPlanning::start(const PlannerPlan& plan, const JobHosts& hosts,
                                           bool siblings_disjoint) {
    auto link = start_planner(plan);
    if (!link) return tl::unexpected(link.error());
    return JobPlanning(std::move(*link), hosts, siblings_disjoint);
}

std::optional<PlannedNetwork> PlannedNetwork::read(const std::string& text, std::size_t hosts) {
    const auto answer = JsonObject::read(text);
    if (!answer) return std::nullopt;
    PlannedNetwork network{answer->text("network").value_or("the planner"),
                           answer->texts("clusters"),
                           answer->whole_number("min_message_bytes").value_or(0),
                           NetworkLinks::read(*answer), text};
    if (network.clusters.size() != hosts) return std::nullopt;
    const auto is_unknown = [&](const std::string& cluster) {
        return network.links.number_of(cluster) == network.links.clusters.size();
    };
    if (std::any_of(network.clusters.begin(), network.clusters.end(), is_unknown)) network.links = {};
    return network;
}

LinkResult<PlannedNetwork> JobPlanning::look_at() {
    const auto answer = link_.ask(ObjectText("clusters").texts("hosts", hosts_->names()));
    if (!answer) return tl::unexpected(answer.error());
    auto network = PlannedNetwork::read(answer->received(), hosts_->names().size());
    if (!network)
        return tl::unexpected(LinkError{"the planner's answer is not one of its protocol", true});
    return std::move(*network);
}

const PlannedCall* JobPlanning::plan(const PlannedPattern& pattern,
                                     std::optional<std::uint64_t> bytes) {
    const PatternKey& key = pattern.key;
    const auto [known, is_new] = calls_.try_emplace({key, size_class(bytes.value_or(0))});
    auto& call = known->second;
    if (is_new && !is_gone_) {
        const Algorithm able = own_algorithm_of(key.operation);
        ObjectText request = request_of("phase", key, *hosts_, siblings_disjoint_);
        request.texts("algorithms", {name_of(able)});
        if (bytes) request.number("message_bytes", *bytes);
        const auto answer = link_.ask(request);
        is_gone_ = !answer && answer.error().lost;
        if (answer) call = read_call(*answer, able, pattern.clusters);
    }
    return call ? &*call : nullptr;
}

const NodeRates* JobPlanning::rates(const PlannedPattern& pattern) {
    const auto [known, is_new] = rates_.try_emplace(pattern.key);
    if (is_new) known->second = rates_anew(pattern);
    return known->second ? &*known->second : nullptr;
}

/// A size for which pacing cannot help has those of any size: the calls of a period go by one
/// algorithm.
std::optional<NodeRates> JobPlanning::rates_anew(const PlannedPattern& pattern) {
    const std::size_t clusters = pattern.clusters.size();
    if (clusters == 0 || clusters > told_clusters_max) return std::nullopt;
    const PlannedCall* const any = plan(pattern, std::nullopt);
    if (any == nullptr || !any->is_paced) return std::nullopt;
    const RateSizes sizes(clusters);
    NodeRates found;
    found.piece_frames = any->piece_frames;
    for (std::size_t at = 0; at < sizes.count(); ++at) {
        const PlannedCall* const call = plan(pattern, sizes.bytes_of(at));
        if (call == nullptr) return std::nullopt;
        const std::vector<std::uint64_t> none(clusters * clusters);
        const auto& rates = call->is_paced      ? call->bytes_per_s
                            : call->is_lossless ? none
                                                : any->bytes_per_s;
        found.bytes_per_s.insert(found.bytes_per_s.end(), rates.begin(), rates.end());
    }
    found.number = ++numbers_;
    return found;
}

const PlannedCall* JobPlanning::planned(const PatternKey& key, std::uint64_t bytes) const {
    const auto known = calls_.find({key, size_class(bytes)});
    return known != calls_.end() && known->second ? &*known->second : nullptr;
}

}  // namespace headway::glue

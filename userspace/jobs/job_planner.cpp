// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_planner.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/wire.hpp"
#include "jobs/plan_json.hpp"

namespace headway {
namespace {

/// The part of every link that data may take.  A receiver acknowledges every other frame, by one of
/// 84 bytes of wire time for 3076, which crosses the same links in the other direction: a kernel
/// charges a node for it, a rank cannot.
constexpr double part_for_data = 0.97;

/// A smaller part of the above, where a piece is of several frames: it calls forth an
/// acknowledgement at once, which does not travel with data of the other direction.
constexpr double part_for_larger_pieces = 0.94 / part_for_data;

/// Processor time of a rank for a piece that it sends and one that it gets, whatever their sizes
/// are.  An assumption: no benchmark here measures it.
constexpr double piece_s = 7e-6;

/// All senders' pieces may meet in front of one link.
constexpr double part_for_pieces = 0.75;

constexpr auto frame_bytes = static_cast<double>(tcp_wire_bytes(tcp_segment_bytes));
constexpr std::uint64_t piece_frames_max = 64;

/// As many as ranks are told rates for.
constexpr std::size_t links_clusters_max = 32;

constexpr double told_flows_max = 4096;

/// What TCP sends of a connection before the first acknowledgment.
constexpr double window_frames = 10;

/// Messages up to there kept to a rank's clock over 10 ms; of 256 KiB a gather took 2.9 times what it
/// takes unpaced (tests/bench/map).
constexpr std::uint64_t held_from_bytes = 64 * 1024 + 1;

constexpr const char* too_long =
    "more of a message has to be under way on so long a link than TCP's window holds, which does not "
    "grow while a rank hands over pieces; headwayd can pace it";

constexpr const char* too_fast =
    "a rank cannot hand over single frames so fast, and the ports are not known to hold more of "
    "each rank; headwayd can pace such links";

/// Returns the rate of one node towards the cluster.
std::uint64_t rate_towards(std::size_t cluster, const NodePlan& plan, const KernelLayout& layout) {
    if (!plan.paced) return 0;
    const auto found = std::find_if(layout.classes.begin(), layout.classes.end(),
                                    [&](const ClassLayout& one) { return one.cluster == cluster; });
    if (found == layout.classes.end()) return 0;
    const ClassRate& rate = plan.rates[static_cast<std::size_t>(found - layout.classes.begin())];
    return rate ? rate->value : 0;
}

/// Of a planned rate, what is left.  Where an operation has a root all data cross a link in one direction,
/// and what acknowledges them in the other one.
double room_for_acknowledgments(const PlannedOperation& operation, std::uint64_t piece_frames) {
    if (operation.has_root) return 1 / part_for_data;
    return piece_frames > 1 ? part_for_larger_pieces : 1;
}

/// In front of any link that several hosts share; 0: of one nothing is known.
std::uint64_t least_buffer_bytes(const Topology& topology) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    const auto take = [&](const std::optional<std::uint64_t>& bytes) {
        least = std::min(least, bytes.value_or(0));
    };
    const bool has_trunks = topology.trunk_count() > 1;
    for (const Cluster& cluster : topology.clusters()) {
        take(cluster.host_buffer_bytes);
        if (has_trunks) take(cluster.trunk_buffer_bytes);
    }
    for (const TrunkSwitch& trunk : topology.switches()) take(trunk.trunk_buffer_bytes);
    return least;
}

/// As how many of its links a trunk may be filled by 1, 2, 4, ... equal connections, in thousandths.
/// Where hosts' addresses alone choose the link, nobody knows here how many hosts a call's connections
/// have: as one.
std::vector<std::uint64_t> effective_thousandths(const ParallelLinks& links, std::uint32_t draws) {
    std::vector<std::uint64_t> effective;
    for (double flows = 1; flows <= told_flows_max; flows *= 2) {
        const EqualFlows equal{links.hash == LinkHash::flow ? flows : 1, 1};
        const LinkFill fill = fill_of(links.count, {&equal, 1}, draws);
        effective.push_back(static_cast<std::uint64_t>(1000 * fill.effective_links()));
    }
    return effective;
}

/// What the links carry between hosts of some clusters, for ranks that plan the very messages of a
/// call by themselves; null: too many clusters.
Json links_json(const Topology& topology, double utilisation, const std::set<std::size_t>& clusters) {
    if (clusters.size() > links_clusters_max) return nullptr;
    const auto carries = [&](BitsPerSecond rate) {
        return static_cast<std::uint64_t>(utilisation * static_cast<double>(rate.value) / 8);
    };
    Json links{{"clusters", Json::array()},
               {"host_bytes_per_s", Json::array()},
               {"part_for_larger_pieces", part_for_larger_pieces}};
    for (const char* list : {"trunk_up_bytes_per_s", "trunk_down_bytes_per_s", "below_trunk"})
        links[list] = Json::array();
    for (const std::size_t cluster : clusters) {
        links["clusters"].push_back(topology.clusters()[cluster].name);
        links["host_bytes_per_s"].push_back(carries(topology.clusters()[cluster].host_rate));
    }
    std::vector<ParallelLinks> parallel;
    for (std::size_t number = 0; number < topology.trunk_count(); ++number) {
        const auto is_below = [&](std::size_t one) { return topology.is_below(one, number); };
        const auto below = std::count_if(clusters.begin(), clusters.end(), is_below);
        if (below == 0 || static_cast<std::size_t>(below) == clusters.size()) continue;
        const TrunkSwitch& trunk = topology.trunk(number);
        links["trunk_up_bytes_per_s"].push_back(carries(trunk.trunk_up_rate));
        links["trunk_down_bytes_per_s"].push_back(carries(trunk.trunk_down_rate));
        for (const std::size_t one : clusters) links["below_trunk"].push_back(is_below(one) ? 1 : 0);
        parallel.push_back(trunk.trunk_links);
    }
    const auto hashed = std::ranges::count_if(parallel, &ParallelLinks::are_hashed);
    const std::uint32_t draws = draws_of(topology, 2 * static_cast<std::uint32_t>(hashed));
    for (const ParallelLinks& one : parallel) {
        if (hashed == 0) break;
        for (const std::uint64_t effective : effective_thousandths(one, draws))
            links["trunk_effective_thousandths"].push_back(effective);
    }
    return links;
}

std::string name_of_host(const Topology& topology, std::size_t host) {
    const auto& hosts = topology.clusters()[topology.cluster_of(host)].hosts;
    return *std::find_if(hosts.begin(), hosts.end(),
                         [&](const std::string& name) { return topology.find_host(name) == host; });
}

}  // namespace

Result<JobPlanner> JobPlanner::make(Config config) {
    const auto& clusters = config.topology.clusters();
    const auto some = std::find_if(clusters.begin(), clusters.end(), [](const Cluster& one) { return !one.hosts.empty(); });
    if (some == clusters.end()) return failure("{}: no cluster has a host", config.file);
    const std::string host = some->hosts.front();
    config.topology = config.topology.with_rates_times(part_for_data);
    config.node.name = host;
    config.coordination.reset();  // nobody shares a trunk by agreement without daemons
    auto planner = NodePlanner::make(std::move(config), host);
    if (!planner) return tl::unexpected(planner.error());
    return JobPlanner(std::move(*planner));
}

Result<const NodePlanner*> JobPlanner::planner_of(std::size_t host) {
    if (const auto known = planners_.find(host); known != planners_.end()) return &known->second;
    auto made = planner_.on_node(name_of_host(planner_.config().topology, host));
    if (!made) return tl::unexpected(made.error());
    return &planners_.emplace(host, std::move(*made)).first->second;
}

/// Takes two hosts of each cluster that has any in the communicator; the same one twice, if the
/// cluster has only one.
Result<JobPlanner::Hosts> JobPlanner::hosts_to_plan(const CollectiveHosts& hosts) const {
    const Topology& topology = planner_.config().topology;
    const auto communicator = planner_.hosts_of(hosts.communicator);
    if (!communicator) return tl::unexpected(communicator.error().within("comm_hosts"));
    Hosts chosen;
    for (const std::string& name : topology.names_of(**communicator)) {
        const std::size_t host = *topology.find_host(name);
        const auto [entry, is_first] = chosen.try_emplace(topology.cluster_of(host), std::pair{host, host});
        if (!is_first) entry->second.second = host;
    }
    return chosen;
}

Result<NodePlan> JobPlanner::plan_of(std::size_t host, const PhaseRequest& request) {
    const auto planner = planner_of(host);
    if (!planner) return tl::unexpected(planner.error());
    return (*planner)->plan(request.hosts, request.message_bytes);
}

/// Plans for any host of each cluster.
Result<JobPlanner::Rates> JobPlanner::plan_alike(const PhaseRequest& request, const Hosts& hosts) {
    Rates found;
    for (const auto& [from, of_cluster] : hosts) {
        auto plan = plan_of(of_cluster.first, request);
        if (!plan) return tl::unexpected(plan.error());
        for (const auto& [to, others] : hosts) found.rates.push_back(rate_towards(to, *plan, planners_.at(of_cluster.first).layout()));
        if (!found.said) found.said = std::move(*plan);
    }
    return found;
}

/// Whichever host is the root: of a gather what a host sends to a root in each cluster, of a scatter what a root in each
/// cluster sends.
Result<JobPlanner::Rates> JobPlanner::plan_with_root(PhaseRequest request, const Hosts& hosts) {
    const Topology& topology = planner_.config().topology;
    const bool root_sends = request.hosts.operation->as == PlannedAs::scatter;
    Rates found;
    for (const auto& [from, of_cluster] : hosts) {
        for (const auto& [to, others] : hosts) {
            const std::size_t root = root_sends ? of_cluster.first : others.first;
            const std::size_t sender = root_sends ? root : of_cluster.second;
            request.hosts.root = name_of_host(topology, root);
            auto plan = plan_of(sender, request);
            if (!plan) return tl::unexpected(plan.error());
            found.rates.push_back(rate_towards(to, *plan, planners_.at(sender).layout()));
            if (!found.said || (plan->paced && !found.said->paced)) found.said = std::move(*plan);
        }
    }
    return found;
}

/// Returns the most that a node sends, towards all clusters; in an operation with a root it sends
/// to one of them.
std::uint64_t JobPlanner::fastest_node(const Rates& found, std::size_t clusters,
                                       bool has_root) const {
    std::uint64_t fastest = 0;
    for (std::size_t from = 0; from < clusters; ++from) {
        const auto row = std::span(found.rates).subspan(from * clusters, clusters);
        fastest =
            std::max(fastest, has_root ? *std::max_element(row.begin(), row.end())
                                       : std::accumulate(row.begin(), row.end(), std::uint64_t{0}));
    }
    return fastest;
}

/// Counts the frames that the buffers hold of each sender at once.
std::uint64_t JobPlanner::frames_held(double senders) const {
    const auto buffer = static_cast<double>(least_buffer_bytes(planner_.config().topology));
    const auto held = static_cast<std::uint64_t>(part_for_pieces * buffer / (senders * frame_bytes));
    return std::clamp<std::uint64_t>(held, 1, piece_frames_max);
}

/// Chooses a piece so large that a rank's processor keeps up with the rate; it is the same for
/// messages of all sizes.  None: the buffers are not known to hold as many frames.
Result<std::optional<std::uint64_t>> JobPlanner::piece_frames(PhaseRequest request,
                                                              const Hosts& hosts) {
    const std::uint32_t ranks = request.hosts.ranks_per_host;
    const bool has_root = request.hosts.operation->has_root;
    const auto [known, is_new] = piece_frames_.try_emplace(
        fmt::format("{} {} {}", request.hosts.operation->name, ranks, request.hosts.communicator));
    if (!is_new) return known->second;
    request.message_bytes.reset();
    const auto found = plan_pattern(request, hosts);
    const auto communicator = planner_.hosts_of(request.hosts.communicator);
    if (!found || !communicator) {
        piece_frames_.erase(known);
        return tl::unexpected(!found ? found.error() : communicator.error().within("comm_hosts"));
    }
    const auto of_node = static_cast<double>(fastest_node(*found, hosts.size(), has_root));
    const double frames = std::max(std::ceil(of_node / ranks * piece_s / frame_bytes), 1.0);
    const auto senders = planner_.config().topology.count(**communicator).total() * ranks;
    const auto needed = static_cast<std::uint64_t>(frames);
    if (needed <= frames_held(senders)) known->second = needed;
    return known->second;
}

Result<JobPlanner::Rates> JobPlanner::plan_pattern(const PhaseRequest& request,
                                                   const Hosts& hosts) {
    return request.hosts.operation->has_root ? plan_with_root(request, hosts)
                                             : plan_alike(request, hosts);
}

/// Of a connection between a root and another host.  Such a call would take longer than unpaced, whose
/// bursts let the window grow.
bool JobPlanner::is_held_by_windows(const PhaseRequest& request, const Rates& found,
                                    const Hosts& hosts) const {
    const PlannedOperation& operation = *request.hosts.operation;
    const bool may_be_held = request.message_bytes ? *request.message_bytes >= held_from_bytes
                                                   : !operation.sizes_agree;
    if (!operation.has_root || !may_be_held) return false;
    std::size_t at = 0;
    for (const auto& [from, senders] : hosts) {
        for (const auto& [to, receivers] : hosts) {
            const auto rate = static_cast<double>(found.rates[at++]);
            const std::chrono::duration<double> one_way = planner_.config().topology.delay(from, to);
            const double under_way = rate * 2 * one_way.count();
            if (under_way > window_frames * frame_bytes) return true;
        }
    }
    return false;
}

template <>
Result<Json> JobPlanner::serve(const ClustersRequest& request, Json answer) {
    const Config& config = planner_.config();
    answer["network"] = config.file;
    answer["clusters"] = Json::array();
    std::set<std::size_t> clusters;
    for (const std::string& name : request.hosts) {
        const auto host = config.topology.find_host(name);
        if (host) clusters.insert(config.topology.cluster_of(*host));
        answer["clusters"].push_back(host ? config.topology.clusters()[config.topology.cluster_of(*host)].name : "");
    }
    answer["links"] = links_json(config.topology, config.policy.plan.target_utilisation(), clusters);
    answer["min_message_bytes"] = config.policy.min_message_bytes;
    return answer;
}

template <>
Result<Json> JobPlanner::serve(const PhaseRequest& request, Json answer) {
    const auto hosts = hosts_to_plan(request.hosts);
    if (!hosts) return tl::unexpected(hosts.error());
    auto found = plan_pattern(request, *hosts);
    if (!found) return tl::unexpected(found.error());
    const auto frames = piece_frames(request, *hosts);
    if (!frames) return tl::unexpected(frames.error());
    const NodePlan& plan = *found->said;
    const char* const obstacle = !frames->has_value()                         ? too_fast
                                 : is_held_by_windows(request, *found, *hosts) ? too_long
                                                                               : nullptr;
    answer["paced"] = plan.paced && obstacle == nullptr;
    answer["reason"] = plan.paced && obstacle != nullptr ? obstacle : plan.reason;
    answer["algorithm"] = obstacle != nullptr ? Json(nullptr) : algorithm_json(plan);
    answer["predicted"] =
        plan.predicted && obstacle == nullptr ? prediction_json(*plan.predicted) : Json(nullptr);
    answer["piece_frames"] = frames->value_or(1);
    const double room = room_for_acknowledgments(*request.hosts.operation, frames->value_or(1));
    for (std::uint64_t& rate : found->rates)
        rate = static_cast<std::uint64_t>(room * static_cast<double>(rate));
    answer["lossless"] = !plan.paced && (!plan.predicted || plan.predicted->loses_nothing());
    answer["clusters"] = Json::array();
    for (const auto& [cluster, some] : *hosts)
        answer["clusters"].push_back(planner_.config().topology.clusters()[cluster].name);
    answer["bytes_per_s"] = found->rates;
    return answer;
}

std::string JobPlanner::answer(std::string_view datagram) {
    const Request request = parse_request(datagram);
    if (!request.body) return json_text(make_refusal(request.id, request.body.error().message));
    const auto answered = std::visit(
        [&]<class Body>(const Body& body) -> Result<Json> {
            if constexpr (std::is_same_v<Body, ClustersRequest> || std::is_same_v<Body, PhaseRequest>) {
                return serve(body, make_answer(request.id));
            } else {
                return failure("a job's own planner does not answer \"{}\"", request.kind->name);
            }
        },
        *request.body);
    return json_text(answered ? *answered : make_refusal(request.id, answered.error().message));
}

}  // namespace headway

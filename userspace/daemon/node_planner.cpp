// SPDX-License-Identifier: Apache-2.0
#include "daemon/node_planner.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/limits.hpp"

namespace headway {
namespace {

/// For messages of any size: so large that no buffer holds them.
constexpr std::uint64_t large_message_bytes = std::uint64_t{1} << 30;

/// Up to here algorithms are compared; beyond, that takes too long for a daemon whose
/// clients wait.
constexpr std::uint32_t compared_hosts_max = 128;

/// Beyond so many ranks no algorithm of ours is named: in each of them every rank has a
/// connection to every other one, which a node of many ranks multiplies.  How many
/// messages a process has at once does not depend on the ranks: the MPI helper limits it.
constexpr std::uint64_t direct_ranks_max = 1024;

BytesPerSecond usable_part(BytesPerSecond rate, const PlanPolicy& policy) {
    const auto part = static_cast<unsigned __int128>(rate.value) *
                      policy.target_utilisation_millionths / utilisation_one;
    return {std::max<std::uint64_t>(1, static_cast<std::uint64_t>(part))};
}

/// What an algorithm must save to be preferred to all messages at once.
constexpr double worthwhile_part = 0.95;

/// What the plan's rates are for.  The library's own may send one message after the
/// other (MPICH's does above 32 KiB) and leave half of such rates unused.
std::optional<AllToAllAlgorithm> all_at_once(const AlgorithmChoice& choice) {
    constexpr auto linear = AllToAllAlgorithm::linear;
    return choice.able[static_cast<std::size_t>(linear)] ? std::optional(linear) : std::nullopt;
}

/// Of those the client is able to, at the plan's rates.
std::optional<AllToAllAlgorithm> fastest(std::span<const AlgorithmTime> times,
                                         const AlgorithmChoice& choice) {
    if (times.empty()) return all_at_once(choice);
    const auto high_s = [&](const AlgorithmTime& time) {
        const bool is_able = choice.able[static_cast<std::size_t>(time.algorithm)];
        return is_able ? time.paced.high_s : std::numeric_limits<double>::infinity();
    };
    const auto best = std::min_element(
        times.begin(), times.end(),
        [&](const auto& a, const auto& b) { return high_s(a) < high_s(b); });
    if (high_s(*best) >= times.front().paced.high_s * worthwhile_part) return all_at_once(choice);
    return best->algorithm;
}

}  // namespace

std::string plan_key(const CollectivePattern& pattern, std::optional<std::uint64_t> message_bytes) {
    const AllToAllPattern& hosts = pattern.hosts;
    const auto ranks = pattern.places ? pattern.places->host_of_rank : std::vector<std::uint32_t>{};
    const auto clusters =
        pattern.places ? pattern.places->cluster_of_host : std::vector<std::size_t>{};
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", pattern.operation->name,
                       fmt::join(hosts.job.per_cluster, ","),
                       fmt::join(hosts.communicator.per_cluster, ","), hosts.siblings_disjoint,
                       hosts.ranks_per_host, pattern.root_cluster, pattern.root_is_here,
                       pattern.algorithm.fixed ? algorithm_name(*pattern.algorithm.fixed) : "any",
                       pattern.algorithm.able.to_ulong() +
                           (pattern.algorithm.able_to_ring ? 1U << all_to_all_algorithm_count : 0),
                       fmt::join(ranks, ","),
                       fmt::join(clusters, ","), pattern.own_place,
                       message_bytes ? fmt::to_string(*message_bytes) : "any");
}

Result<NodePlanner> NodePlanner::make(Config config, const std::string& host_name) {
    const std::string name = config.node.name.value_or(host_name);
    const auto host = config.topology.find_host(name);
    if (!host) {
        return failure("{}: node.name: host \"{}\"{} is in no cluster; add it to the hosts of its "
                       "cluster, or set [node] name",
                       config.file, name, config.node.name ? "" : " (the host name)");
    }
    const std::size_t cluster = config.topology.cluster_of(*host);
    std::optional<NodeTrunk> shared;
    if (config.coordination) {
        auto trunk = node_trunk(config.topology, *host, config.policy.plan, *config.coordination);
        if (!trunk) return tl::unexpected(trunk.error().within(config.file));
        shared = std::move(*trunk);
    }
    return NodePlanner(std::move(config), name, cluster, std::move(shared));
}

void NodePlanner::distrust(std::optional<std::uint32_t> divisor_factor_thousandths) {
    divisor_factor_ = divisor_factor_thousandths;
    planned_ = divisor_factor_ ? config_.topology.without_buffers() : config_.topology;
    policy_.divisor_factor_thousandths = divisor_factor_.value_or(divisor_one);
    plans_.clear();
}

/// Only where no other communicator of the job can be in another step at the same
/// time: the client says so, or this one has all the job's ranks.
void NodePlanner::place_ranks(CollectivePattern& pattern, const CollectiveHosts& hosts,
                              std::span<const std::uint32_t> rank_hosts) const {
    const Topology& topology = config_.topology;
    RankPlaces places;
    std::map<std::size_t, std::uint32_t> place_of_host;
    std::vector<std::uint32_t> ranks_of_place;
    for (const std::uint32_t name : rank_hosts) {
        const auto host = *topology.find_host(hosts.communicator[name]);
        const auto [entry, is_new] =
            place_of_host.try_emplace(host, static_cast<std::uint32_t>(place_of_host.size()));
        if (is_new) {
            places.cluster_of_host.push_back(topology.cluster_of(host));
            ranks_of_place.push_back(0);
        }
        ++ranks_of_place[entry->second];
        places.host_of_rank.push_back(entry->second);
    }
    const auto own = place_of_host.find(*topology.find_host(node_name_));
    if (own == place_of_host.end()) return;
    const bool has_all = place_of_host.size() == pattern.hosts.job.total() &&
                         std::all_of(ranks_of_place.begin(), ranks_of_place.end(),
                                     [&](auto ranks) { return ranks == hosts.ranks_per_host; });
    if (!has_all && !hosts.siblings_disjoint) return;
    pattern.own_place = own->second;
    pattern.places = std::move(places);
}

Result<CollectivePattern> NodePlanner::pattern_of(const CollectiveHosts& hosts,
                                                  std::span<const std::uint32_t> rank_hosts) const {
    const Topology& topology = config_.topology;
    const auto job = topology.resolve(hosts.job);
    if (!job) return tl::unexpected(job.error().within("job_hosts"));
    const auto communicator = topology.resolve(hosts.communicator);
    if (!communicator) return tl::unexpected(communicator.error().within("comm_hosts"));
    for (std::size_t host = 0; host < topology.host_count(); ++host) {
        if (communicator->contains(host) && !job->contains(host)) {
            return failure("comm_hosts names hosts that are not in job_hosts");
        }
    }
    if (!communicator->contains(*topology.find_host(node_name_))) {
        return failure("comm_hosts does not name this node, \"{}\"", node_name_);
    }
    CollectivePattern pattern;
    pattern.operation = hosts.operation;
    pattern.hosts = {topology.count(*job), topology.count(*communicator), hosts.siblings_disjoint,
                     hosts.ranks_per_host};
    pattern.algorithm = hosts.algorithm;
    place_ranks(pattern, hosts, rank_hosts);
    if (!hosts.root) return pattern;
    const auto root = topology.find_host(*hosts.root);
    if (!root || !communicator->contains(*root)) {
        return failure("root: \"{}\" is not in comm_hosts", *hosts.root);
    }
    pattern.root_cluster = topology.cluster_of(*root);
    pattern.root_is_here = root == topology.find_host(node_name_);
    return pattern;
}

Result<NodePlan> NodePlanner::plan(const CollectivePattern& pattern,
                                   std::optional<std::uint64_t> message_bytes) const {
    std::string key = plan_key(pattern, message_bytes);
    if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
    auto plan = plan_anew(pattern, message_bytes);
    if (!plan) return plan;
    if (plans_.size() >= plans_kept_max) plans_.clear();
    plans_.emplace(std::move(key), *plan);
    return plan;
}

Result<NodePlan> NodePlanner::plan_anew(const CollectivePattern& pattern,
                                        std::optional<std::uint64_t> message_bytes) const {
    if (pattern.algorithm.able_to_ring) return plan_by_ring(pattern, message_bytes);
    switch (pattern.operation->as) {
        case PlannedAs::gather:
        case PlannedAs::scatter: return plan_rooted(pattern, message_bytes);
        case PlannedAs::nothing:
            return NodePlan{false,
                            fmt::format("which messages the MPI library makes of {} is not known: "
                                        "a rate for the worst of them might slow it down",
                                        pattern.operation->name),
                            {}};
        case PlannedAs::alltoall:
        case PlannedAs::neighbours: break;
    }
    auto plan = plan_alltoall_like(pattern, message_bytes);
    if (plan && plan->paced && pattern.operation->as == PlannedAs::neighbours) {
        plan->reason += "; who is whose neighbour is not known, so as if all were";
    }
    return plan;
}

Result<NodePlan> NodePlanner::plan_alltoall_like(const CollectivePattern& pattern,
                                                 std::optional<std::uint64_t> message_bytes) const {
    auto plan = plan_collective(planned_, policy_, pattern.hosts, message_bytes);
    if (!plan) return tl::unexpected(plan.error());
    NodePlan node{plan->is_paced(), plan->shares.reason, {}};
    node.predicted = node.paced ? plan->paced : plan->unpaced;
    node.is_uncontended = !node.paced;
    if (!node.paced) return node;
    node.rates = class_rates(layout_, plan->shares.rates);
    node.algorithm = algorithm_of(pattern, plan->shares, message_bytes);
    if (!node.algorithm) return node;
    if (const auto steps = steps_of(pattern, *node.algorithm, message_bytes)) {
        node.steps = own_steps(*steps, pattern.own_place);
        node.predicted = steps->predicted;
    }
    return node;
}

std::optional<AllToAllAlgorithm> NodePlanner::algorithm_of(
    const CollectivePattern& pattern, const AllToAllPlan& shares,
    std::optional<std::uint64_t> message_bytes) const {
    if (pattern.operation->algorithm) return pattern.operation->algorithm;
    const AlgorithmChoice& choice = pattern.algorithm;
    if (choice.fixed || choice.able.none()) return choice.fixed;
    if (const auto wanted = config_.policy.algorithm) {
        return choice.able[static_cast<std::size_t>(*wanted)] ? wanted : std::nullopt;
    }
    const std::uint64_t hosts = shares.hosts.total();
    const std::uint64_t ranks = pattern.hosts.ranks_per_host;
    if (hosts * ranks > direct_ranks_max) return std::nullopt;
    if (!pattern.operation->sizes_agree) return all_at_once(choice);
    if (message_bytes.value_or(0) == 0) return std::nullopt;
    if (hosts > compared_hosts_max) return all_at_once(choice);
    auto times = predict_algorithms(planned_, policy_, shares,
                                    *message_bytes * ranks * ranks);
    for (AlgorithmTime& time : times) {
        const auto steps = steps_of(pattern, time.algorithm, message_bytes);
        if (steps) time.paced = *steps->predicted;
    }
    return fastest(times, choice);
}

/// None: no stepwise algorithm, or nobody knows which ranks send in a step.
std::optional<StepPlan> NodePlanner::steps_of(const CollectivePattern& pattern,
                                              AllToAllAlgorithm algorithm,
                                              std::optional<std::uint64_t> message_bytes) const {
    if (!pattern.places || !is_stepwise(algorithm)) return std::nullopt;
    auto plan = plan_steps(planned_, policy_, *pattern.places, algorithm, message_bytes);
    if (!plan) return std::nullopt;
    return std::move(*plan);
}

std::vector<NodeSteps> NodePlanner::own_steps(const StepPlan& plan, std::size_t own_place) const {
    std::vector<NodeSteps> steps;
    for (const StepBlock& block : plan.blocks) {
        NodeSteps own{block.first_step, {}};
        for (const ClassLayout& target : layout_.classes) {
            own.rates.push_back(block.rates[own_place][target.cluster]);
        }
        if (steps.empty() || steps.back().rates != own.rates) steps.push_back(std::move(own));
    }
    return steps;
}

/// Its rates are not for the library's own algorithm, so there are none without it.
Result<NodePlan> NodePlanner::plan_by_ring(const CollectivePattern& pattern,
                                           std::optional<std::uint64_t> message_bytes) const {
    auto ring = plan_ring(planned_, policy_, pattern.hosts,
                          *pattern.operation->ring, message_bytes);
    if (!ring) return tl::unexpected(ring.error());
    NodePlan node{false, std::move(ring->reason), {}};
    node.predicted = std::move(ring->predicted);
    node.by_ring = ring->is_named;
    return node;
}

/// Messages go straight between the root and everybody else.
Result<NodePlan> NodePlanner::plan_rooted(const CollectivePattern& pattern,
                                          std::optional<std::uint64_t> message_bytes) const {
    const Operation operation =
        pattern.operation->as == PlannedAs::gather ? Operation::gather : Operation::scatter;
    const AllToAllPattern& hosts = pattern.hosts;
    const double bytes = static_cast<double>(message_bytes.value_or(large_message_bytes)) *
                         hosts.ranks_per_host;
    const auto exchange =
        make_exchange(operation, hosts.siblings_disjoint ? hosts.communicator : hosts.job,
                      pattern.root_cluster, bytes);
    if (!exchange) return tl::unexpected(exchange.error());
    // The unused part of the links makes so large a message later by more than any
    // time-out, but that is no reason not to pace all smaller ones; so it is left
    // out here, and of the rates below.
    PlanPolicy policy = policy_;
    if (!message_bytes) policy.target_utilisation_millionths = utilisation_one;
    auto plan = plan_exchange(planned_, policy, *exchange);
    if (!plan) return tl::unexpected(plan.error());

    NodePlan node{plan->paced, std::move(plan->reason), {}};
    if (message_bytes) node.predicted = node.paced ? plan->chosen : plan->unpaced;
    node.is_uncontended = !node.paced;
    if (!node.paced) return node;
    node.algorithm = pattern.operation->algorithm;
    // The root is the last group, alone; the others come by cluster.
    const auto& groups = exchange->groups;
    std::size_t own = groups.size() - 1;
    for (std::size_t i = 0; !pattern.root_is_here && i + 1 < groups.size(); ++i) {
        if (groups[i].cluster == layout_.own_cluster) own = i;
    }
    for (const ClassLayout& target : layout_.classes) {
        ClassRate rate = plan->rates[own][target.cluster];
        if (rate && !message_bytes) rate = usable_part(*rate, policy_);
        node.rates.push_back(rate);
    }
    return node;
}

Result<NodePlan> NodePlanner::plan(const TrafficRequest& request) const {
    const Topology& topology = config_.topology;
    const auto resolved = topology.resolve(request.hosts);
    if (!resolved) return tl::unexpected(resolved.error().within("hosts"));
    std::vector<std::size_t> hosts;
    for (const std::string& name : request.hosts) hosts.push_back(*topology.find_host(name));
    if (topology.count(*resolved).total() != hosts.size()) {
        return failure("hosts names a host twice");
    }
    const auto own = std::find(hosts.begin(), hosts.end(), *topology.find_host(node_name_));
    if (own == hosts.end()) return failure("hosts does not name this node, \"{}\"", node_name_);
    auto plan = plan_traffic(planned_, policy_, hosts, request.flows);
    if (!plan) return tl::unexpected(plan.error());

    NodePlan node{plan->paced, std::move(plan->reason), {}};
    node.is_uncontended = !node.paced;
    if (!node.paced) return node;
    const auto& rates = plan->rates[static_cast<std::size_t>(own - hosts.begin())];
    for (const ClassLayout& target : layout_.classes) node.rates.push_back(rates[target.cluster]);
    return node;
}

Result<NodePlan> NodePlanner::plan_job_alltoall(const std::vector<std::string>& hosts,
                                                std::uint32_t ranks_per_host) const {
    CollectiveHosts whole;
    whole.operation = find_operation("alltoall");
    whole.job = whole.communicator = hosts;
    whole.ranks_per_host = ranks_per_host;
    const auto pattern = pattern_of(whole);
    if (!pattern) return tl::unexpected(pattern.error());
    return plan(*pattern, std::nullopt);
}

Result<CollectivePlan> NodePlanner::plan_hosts(const PlanRequest& request) const {
    const auto resolved = config_.topology.resolve(request.hosts);
    if (!resolved) return tl::unexpected(resolved.error().within("hosts"));
    const HostCounts counts = config_.topology.count(*resolved);
    return plan_collective(planned_, policy_,
                           {counts, counts, false, request.ranks_per_host},
                           request.message_bytes);
}

std::uint64_t planned_bytes(std::uint64_t message_bytes) {
    constexpr std::uint64_t largest = std::uint64_t{1} << 62;
    return message_bytes > largest ? message_bytes : std::bit_ceil(message_bytes);
}

std::optional<std::string> too_small(const PolicyConfig& policy,
                                     const std::optional<std::uint64_t>& message_bytes) {
    const std::uint64_t least = policy.min_message_bytes;
    if (!message_bytes || *message_bytes >= least) return std::nullopt;
    return fmt::format("messages of {} bytes are smaller than min_message_bytes = {}",
                       *message_bytes, least);
}

}  // namespace headway

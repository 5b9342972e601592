// SPDX-License-Identifier: Apache-2.0
#include "jobs/node_planner.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/limits.hpp"
#include "plan/burst.hpp"

namespace headway {
namespace {

/// A plan for messages of any size is for one so large that no buffer holds it.
constexpr std::uint64_t large_message_bytes = std::uint64_t{1} << 30;

/// Beyond so many ranks no algorithm of ours is named: in each of them every rank has a
/// connection to every other one, which a node of many ranks multiplies.  How many
/// messages a process has at once does not depend on the ranks: the MPI helper limits it.
constexpr std::uint64_t direct_ranks_max = 1024;

/// Names the algorithm that the plan's rates are for, unless the library chooses: it may send one
/// message after the other (MPICH does above 32 KiB) and leave half of such rates unused.
std::optional<ClientAlgorithm> algorithm_of(const CollectivePattern& pattern,
                                            std::optional<std::uint64_t> message_bytes) {
    constexpr auto linear = ClientAlgorithm::linear;
    if (pattern.operation->is_linear_only || pattern.algorithm.is_linear) return linear;
    const std::uint64_t ranks =
        std::uint64_t{pattern.hosts.communicator.total()} * pattern.hosts.ranks_per_host;
    if (!pattern.algorithm.able_to_linear || ranks > direct_ranks_max) return std::nullopt;
    if (pattern.operation->sizes_agree && message_bytes.value_or(0) == 0) return std::nullopt;
    return linear;
}

/// Returns the plan made before, or a new one; it forgets all if there are too many.
template <class Key, class Plan, class MakePlan>
Result<Plan> known_or(std::map<Key, Plan>& plans, std::size_t most, Key key,
                      const MakePlan& plan_anew) {
    if (const auto known = plans.find(key); known != plans.end()) return known->second;
    Result<Plan> plan = plan_anew();
    if (!plan) return plan;
    if (plans.size() >= most) plans.clear();
    plans.emplace(std::move(key), *plan);
    return plan;
}

}  // namespace

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

KernelLayout NodePlanner::layout_on(std::size_t own_cluster) const {
    const auto guard = shared_trunk_ ? std::optional(shared_trunk_->guard) : std::nullopt;
    return make_kernel_layout(planned_, own_cluster, guard, plan_burst_bytes(planned_, own_cluster));
}

void NodePlanner::distrust(std::optional<std::uint32_t> divisor_factor_thousandths) {
    const bool trusted = !divisor_factor_;
    divisor_factor_ = divisor_factor_thousandths;
    planned_ = divisor_factor_ ? config_.topology.without_buffers() : config_.topology;
    if (trusted != !divisor_factor_) layout_ = layout_on(layout_.own_cluster);
    policy_.divisor_factor_thousandths = divisor_factor_.value_or(divisor_one);
    plans_.clear();
    traffic_plans_.clear();
    whole_plans_ = std::make_shared<WholePlans>();
}

Result<NodePlanner> NodePlanner::on_node(const std::string& name) const {
    Config config = config_;
    config.node.name = name;
    auto other = make(std::move(config), name);
    if (!other) return other;
    other->distrust(divisor_factor_);
    other->whole_plans_ = whole_plans_;
    return other;
}

Result<std::shared_ptr<const HostSet>> NodePlanner::hosts_of(const std::string& list) const {
    if (const auto known = host_sets_.find(list); known != host_sets_.end()) return known->second;
    const auto names = parse_hostlist(list, hosts_per_request_max);
    if (!names) return tl::unexpected(names.error());
    auto hosts = config_.topology.resolve(*names);
    if (!hosts) return tl::unexpected(hosts.error());
    if (host_sets_.size() >= host_lists_kept_max) host_sets_.clear();
    return host_sets_.emplace(list, std::make_shared<const HostSet>(std::move(*hosts))).first->second;
}

Result<CollectivePattern> NodePlanner::pattern_of(const CollectiveHosts& hosts) const {
    const Topology& topology = config_.topology;
    const auto job = hosts_of(hosts.job);
    if (!job) return tl::unexpected(job.error().within("job_hosts"));
    const auto communicator = hosts_of(hosts.communicator);
    if (!communicator) return tl::unexpected(communicator.error().within("comm_hosts"));
    if (!(*job)->contains_all(**communicator)) {
        return failure("comm_hosts names hosts that are not in job_hosts");
    }
    if (!(*communicator)->contains(*topology.find_host(node_name_))) {
        return failure("comm_hosts does not name this node, \"{}\"", node_name_);
    }
    CollectivePattern pattern;
    pattern.operation = hosts.operation;
    pattern.hosts = {topology.count(**job), topology.count(**communicator), hosts.siblings_disjoint,
                     hosts.ranks_per_host, hosts.operation->as == PlannedAs::neighbours};
    pattern.algorithm = hosts.algorithm;
    if (!hosts.root) return pattern;
    const auto root = topology.find_host(*hosts.root);
    if (!root || !(*communicator)->contains(*root)) {
        return failure("root: \"{}\" is not in comm_hosts", *hosts.root);
    }
    pattern.root_cluster = topology.cluster_of(*root);
    pattern.root_is_here = root == topology.find_host(node_name_);
    return pattern;
}

Result<NodePlan> NodePlanner::plan(const CollectiveHosts& hosts,
                                   std::optional<std::uint64_t> message_bytes) const {
    const auto pattern = pattern_of(hosts);
    if (!pattern) return tl::unexpected(pattern.error());
    if (auto small = too_small(config_.policy, message_bytes)) {
        return NodePlan{false, std::move(*small), {}};
    }
    return plan(*pattern, size_to_plan(*pattern, message_bytes));
}

Result<NodePlan> NodePlanner::plan(const CollectivePattern& pattern,
                                   std::optional<std::uint64_t> message_bytes) const {
    return known_or(plans_, plans_kept_max, {pattern, message_bytes},
                    [&] { return plan_anew(pattern, message_bytes); });
}

Result<NodePlan> NodePlanner::plan(const TrafficRequest& request) const {
    return known_or(traffic_plans_, traffic_plans_kept_max, request,
                    [&] { return plan_anew(request); });
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
    auto plan = plan_from_all(pattern, message_bytes);
    if (!plan) return tl::unexpected(plan.error());
    NodePlan node{plan->is_paced(), plan->shares.reason, {}};
    node.predicted = node.paced ? plan->paced : plan->unpaced;
    node.is_uncontended = !node.paced;
    if (!node.paced) return node;
    node.rates = class_rates(layout_, plan->shares.rates);
    node.algorithm = algorithm_of(pattern, message_bytes);
    return node;
}

/// Its rates are not for the library's own algorithm, so there are none without it.
Result<NodePlan> NodePlanner::plan_by_ring(const CollectivePattern& pattern,
                                           std::optional<std::uint64_t> message_bytes) const {
    auto ring = plan_ring(planned_, policy_, pattern.hosts,
                          *pattern.operation->ring, message_bytes);
    if (!ring) return tl::unexpected(ring.error());
    NodePlan node{false, std::move(ring->reason), {}};
    node.predicted = std::move(ring->predicted);
    if (ring->is_named) node.algorithm = ClientAlgorithm::ring;
    return node;
}

Result<CollectivePlan> NodePlanner::plan_from_all(
    const CollectivePattern& pattern, std::optional<std::uint64_t> message_bytes) const {
    return known_or(*whole_plans_, whole_plans_kept_max, {pattern.hosts, message_bytes}, [&] {
        return plan_collective(planned_, policy_, pattern.hosts, message_bytes);
    });
}

Result<RootedPlan> NodePlanner::plan_at_root(const CollectivePattern& pattern,
                                             std::optional<std::uint64_t> message_bytes) const {
    const RootDoes root_does =
        pattern.operation->as == PlannedAs::gather ? RootDoes::receive : RootDoes::send;
    const AllToAllPattern& hosts = pattern.hosts;
    const double bytes = static_cast<double>(message_bytes.value_or(large_message_bytes)) *
                         hosts.ranks_per_host;
    auto exchange =
        exchange_with_root(root_does, hosts.siblings_disjoint ? hosts.communicator : hosts.job,
                           pattern.root_cluster, bytes);
    if (!exchange) return tl::unexpected(exchange.error());
    exchange->connections = hosts.ranks_per_host;
    auto plan = plan_exchange(planned_, policy_, *exchange);
    if (!plan) return tl::unexpected(plan.error());
    return RootedPlan{std::move(*exchange), std::move(*plan)};
}

Result<NodePlan> NodePlanner::plan_rooted(const CollectivePattern& pattern,
                                          std::optional<std::uint64_t> message_bytes) const {
    const auto rooted = plan_at_root(pattern, message_bytes);
    if (!rooted) return tl::unexpected(rooted.error());
    const ExchangePlan& plan = rooted->plan;
    NodePlan node{plan.paced, plan.reason, {}};
    if (!message_bytes) {
        node.reason = fmt::format("with messages of {}, which stand for any size, {}",
                                  bytes_text(static_cast<double>(large_message_bytes)), plan.reason);
    }
    if (message_bytes) node.predicted = node.paced ? plan.chosen : plan.unpaced;
    node.has_root = true;
    node.is_uncontended = !node.paced;
    // Rates are those of all messages at once.  That needs none where the root's own link keeps the
    // messages apart, or no buffer overflows; nobody waits for a host that passes messages on.
    const bool is_lossless = pattern.operation->as == PlannedAs::scatter ||
                             (message_bytes && plan.unpaced.loses_nothing());
    if (node.paced || (is_lossless && pattern.algorithm.able_to_linear))
        node.algorithm = ClientAlgorithm::linear;
    if (!node.paced) return node;
    // The root is the last group, alone; the others come by cluster.
    const auto& groups = rooted->exchange.groups;
    std::size_t own = groups.size() - 1;
    for (std::size_t i = 0; !pattern.root_is_here && i + 1 < groups.size(); ++i) {
        if (groups[i].cluster == layout_.own_cluster) own = i;
    }
    for (const ClassLayout& target : layout_.classes) {
        node.rates.push_back(plan.rates[own][target.cluster]);
    }
    return node;
}

Result<NodePlan> NodePlanner::plan_anew(const TrafficRequest& request) const {
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
    auto plan = plan_traffic(planned_, policy_, hosts, request.flows,
                             request.one_call ? FlowsOf::one_call : FlowsOf::program);
    if (!plan) return tl::unexpected(plan.error());

    NodePlan node{plan->paced, std::move(plan->reason), {}};
    node.is_uncontended = !node.paced;
    if (!node.paced) return node;
    node.end_s = plan->end_s;
    const auto& rates = plan->rates[static_cast<std::size_t>(own - hosts.begin())];
    for (const ClassLayout& target : layout_.classes) node.rates.push_back(rates[target.cluster]);
    return node;
}

Result<NodePlan> NodePlanner::plan_job_alltoall(const std::vector<std::string>& hosts,
                                                std::uint32_t ranks_per_host) const {
    CollectiveHosts whole;
    whole.operation = find_operation("alltoall");
    whole.job = whole.communicator = format_hostlist(hosts);
    whole.ranks_per_host = ranks_per_host;
    const auto pattern = pattern_of(whole);
    if (!pattern) return tl::unexpected(pattern.error());
    return plan(*pattern, std::nullopt);
}

Result<CollectivePlan> NodePlanner::plan_hosts(const PlanRequest& request) const {
    const auto resolved = config_.topology.resolve(request.hosts);
    if (!resolved) return tl::unexpected(resolved.error().within("hosts"));
    const HostCounts counts = config_.topology.count(*resolved);
    CollectivePattern pattern;
    pattern.operation = request.operation;
    pattern.hosts = {counts, counts, false, request.ranks_per_host};
    return plan_from_all(pattern, size_to_plan(pattern, request.message_bytes));
}

std::optional<std::uint64_t> size_to_plan(const CollectivePattern& pattern,
                                          const std::optional<std::uint64_t>& message_bytes) {
    if (!pattern.sizes_agree() || !message_bytes) return std::nullopt;
    return planned_bytes(*message_bytes);
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

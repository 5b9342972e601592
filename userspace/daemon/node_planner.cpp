// SPDX-License-Identifier: Apache-2.0
#include "daemon/node_planner.hpp"

#include <bit>

namespace headway {

Result<NodePlanner> NodePlanner::make(Config config, const std::string& host_name) {
    const std::string name = config.node.name.value_or(host_name);
    const auto host = config.topology.find_host(name);
    if (!host) {
        return failure("{}: node.name: host \"{}\"{} is in no cluster; add it to the hosts of its "
                       "cluster, or set [node] name",
                       config.file, name, config.node.name ? "" : " (the host name)");
    }
    const std::size_t cluster = config.topology.cluster_of(*host);
    return NodePlanner(std::move(config), name, cluster);
}

Result<AllToAllPattern> NodePlanner::pattern_of(const CollectiveHosts& hosts) const {
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
    return AllToAllPattern{topology.count(*job), topology.count(*communicator),
                           hosts.siblings_disjoint, hosts.ranks_per_host};
}

Result<NodePlan> NodePlanner::plan(const AllToAllPattern& pattern,
                                   std::optional<std::uint64_t> message_bytes) const {
    auto plan = plan_collective(config_.topology, config_.policy.plan, pattern, message_bytes);
    if (!plan) return tl::unexpected(plan.error());
    NodePlan node{plan->is_paced(), std::move(plan->shares.reason), {}};
    if (node.paced) node.rates = class_rates(layout_, plan->shares.rates);
    return node;
}

Result<CollectivePlan> NodePlanner::plan_hosts(const PlanRequest& request) const {
    const auto resolved = config_.topology.resolve(request.hosts);
    if (!resolved) return tl::unexpected(resolved.error().within("hosts"));
    const HostCounts counts = config_.topology.count(*resolved);
    return plan_collective(config_.topology, config_.policy.plan,
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

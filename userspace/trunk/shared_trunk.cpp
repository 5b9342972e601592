// SPDX-License-Identifier: Apache-2.0
#include "trunk/shared_trunk.hpp"

#include <algorithm>

#include "trunk/coordination_config.hpp"
#include "trunk/member_record.hpp"

namespace headway {
namespace {

BytesPerSecond usable_rate(BitsPerSecond trunk, const PlanPolicy& policy) {
    const auto part = static_cast<unsigned __int128>(trunk.value / 8) *
                      policy.target_utilisation_millionths / utilisation_one;
    return {static_cast<std::uint64_t>(part)};
}

/// The trunk of the cluster, upwards; of several links one, as no flows are known here.  Where two
/// clusters are all there is it is one cable with that of the other, downwards.
BitsPerSecond trunk_rate(const Topology& topology, std::size_t cluster) {
    const auto& clusters = topology.clusters();
    const BitsPerSecond up = clusters[cluster].trunk_up_rate;
    if (clusters.size() != 2 || topology.trunk_count() != 2) return up;
    const std::size_t other = 1 - cluster;
    return topology.trunks_above(other).empty() ? up : std::min(up, clusters[other].trunk_down_rate);
}

}  // namespace

JobIdentity cluster_identity(const JobHere& job) { return {job.uid, job.start, job.name}; }

Result<NodeTrunk> node_trunk(const Topology& topology, std::size_t host, const PlanPolicy& policy,
                             const CoordinationConfig& config) {
    const std::size_t number = topology.cluster_of(host);
    const Cluster& cluster = topology.clusters()[number];
    if (topology.trunks_above(number).empty())
        return failure("[coordination] nothing crosses a trunk of cluster {}, which is the centre",
                       cluster.name);
    NodeTrunk node;
    node.hosts = cluster.hosts;
    std::ranges::sort(node.hosts);
    const auto place = std::ranges::find_if(
        node.hosts, [&](const std::string& name) { return topology.find_host(name) == host; });
    node.host = static_cast<HostNumber>(place - node.hosts.begin());
    node.trunk.hosts = static_cast<std::uint32_t>(node.hosts.size());
    node.trunk.policy = config.policy;
    node.trunk.capacity = usable_rate(trunk_rate(topology, number), policy);
    const BytesPerSecond edge{cluster.host_rate.value / 8};
    node.trunk.fallback = config.fallback ? BytesPerSecond{config.fallback->value / 8}
                                          : std::min(edge, default_fallback(node.trunk.capacity,
                                                                            node.trunk.hosts));
    if (node.trunk.fallback > edge) return failure("[coordination] fallback is above host_rate");
    if (const auto fits = check_trunk(node.trunk); !fits) {
        return tl::unexpected(
            fits.error().within(fmt::format("[coordination] of cluster {}'s trunk", cluster.name)));
    }
    node.configuration = configuration_digest(node.trunk, config.timing, node.hosts);
    node.guard = {node.trunk.fallback, config.timing.expires};
    return node;
}

}  // namespace headway

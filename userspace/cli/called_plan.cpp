// SPDX-License-Identifier: Apache-2.0
#include "cli/called_plan.hpp"

#include <algorithm>
#include <cmath>

namespace headway {
namespace {

/// The helper's own algorithm for the operation; none: it leaves it to the library.
std::optional<ClientAlgorithm> own_algorithm_of(const PlannedOperation& operation) {
    if (operation.ring) return ClientAlgorithm::ring;
    if (operation.as == PlannedAs::neighbours) return std::nullopt;
    return ClientAlgorithm::linear;
}

/// Of the algorithm that runs.  "prepare" comes before "phase": what is not paced in any size
/// is not asked about again.  Rates for something else are refused.
Result<CalledPlan> plan_for(const NodePlanner& planner, CollectiveHosts hosts,
                            std::optional<std::uint64_t> message_bytes,
                            std::optional<ClientAlgorithm> runs) {
    hosts.algorithm = {runs == ClientAlgorithm::linear, false, false};
    auto plan = planner.plan(hosts, std::nullopt);
    if (plan && plan->paced && message_bytes) plan = planner.plan(hosts, message_bytes);
    if (!plan) return tl::unexpected(plan.error());
    CalledPlan called{std::move(*plan), runs, std::nullopt, {}};
    if (called.plan.algorithm == runs) {
        if (message_bytes) called.predicted = called.plan.predicted;
        return called;
    }
    if (!called.plan.paced) return called;
    called.plan = {false, "the plan is not for the algorithm that runs, which is the MPI library's "
                          "own choice", {}};
    return called;
}

Result<CalledPlan> plan_ring_call(const NodePlanner& planner, const CollectiveHosts& hosts,
                                  const NodePlan& named) {
    auto plan = planner.plan(ring_traffic(planner.config().topology, hosts.communicator));
    if (!plan) return tl::unexpected(plan.error());
    return CalledPlan{std::move(*plan), ClientAlgorithm::ring, named.predicted, {}};
}

}  // namespace

Result<CalledPlan> plan_call(const NodePlanner& planner, CollectiveHosts hosts,
                             std::optional<std::uint64_t> message_bytes) {
    const auto able = own_algorithm_of(*hosts.operation);
    if (!able) return plan_for(planner, std::move(hosts), message_bytes, std::nullopt);
    hosts.algorithm = {false, able == ClientAlgorithm::linear, able == ClientAlgorithm::ring};
    const auto named = planner.plan(hosts, message_bytes);
    if (!named) return tl::unexpected(named.error());
    if (named->algorithm == able && able == ClientAlgorithm::ring)
        return plan_ring_call(planner, hosts, *named);
    const auto runs = named->algorithm == able ? able : std::nullopt;
    auto called = plan_for(planner, std::move(hosts), message_bytes, runs);
    if (called && able == ClientAlgorithm::ring) called->no_ring = named->reason;
    return called;
}

TrafficRequest ring_traffic(const Topology& topology, const std::vector<std::string>& hosts) {
    TrafficRequest request{hosts, {}};
    std::vector<std::uint32_t> ring(hosts.size());
    for (std::uint32_t i = 0; i < ring.size(); ++i) ring[i] = i;
    std::stable_sort(ring.begin(), ring.end(), [&](std::uint32_t a, std::uint32_t b) {
        const auto cluster = [&](std::uint32_t i) {
            return topology.cluster_of(*topology.find_host(hosts[i]));
        };
        return cluster(a) < cluster(b);
    });
    for (std::size_t i = 0; i < ring.size() && ring.size() > 1; ++i)
        request.flows.push_back({ring[i], ring[(i + 1) % ring.size()], 1000});
    return request;
}

TrafficRequest matrix_traffic(const std::vector<std::string>& hosts,
                              const std::vector<std::vector<double>>& bytes) {
    TrafficRequest request{hosts, {}};
    double largest = 0;
    for (const auto& row : bytes) {
        for (const double some : row) largest = std::max(largest, some);
    }
    for (std::uint32_t from = 0; from < bytes.size(); ++from) {
        for (std::uint32_t to = 0; to < bytes[from].size(); ++to) {
            if (from == to || bytes[from][to] <= 0) continue;
            const double part = std::max(1.0, std::round(1000 * bytes[from][to] / largest));
            request.flows.push_back({from, to, part});
        }
    }
    return request;
}

}  // namespace headway

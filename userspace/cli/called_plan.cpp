// SPDX-License-Identifier: Apache-2.0
#include "cli/called_plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "able_algorithm.hpp"
#include "base/hostlist.hpp"
#include "base/limits.hpp"

namespace headway {
namespace {

using enum glue::Algorithm;

/// Returns what the helper asks headwayd for, if that algorithm carries out the call.
CalledPlan asked_for(const CollectiveHosts& hosts, std::optional<std::uint64_t> message_bytes,
                     glue::Algorithm algorithm) {
    CalledPlan called{{}, algorithm, hosts, message_bytes, {}, {}, {}};
    const glue::Operation operation = *glue::operation_named(hosts.operation->name);
    if (algorithm == linear && message_bytes &&
        glue::are_many_small_blocks(operation, *message_bytes, hosts.ranks_per_host)) {
        called.hosts.ranks_per_host = 1;
        called.message_bytes = glue::bytes_between_hosts(*message_bytes, hosts.ranks_per_host);
    }
    return called;
}

/// Plans rates for `algorithm` as the helper asks for them: it asks "prepare" before "phase", so
/// that it asks no more where no size is paced; the reason told is that of the size nevertheless.
/// It refuses rates for another algorithm.
Result<CalledPlan> with_rates(const NodePlanner& planner, CalledPlan called) {
    const bool is_linear = called.algorithm != native;
    called.hosts.algorithm = {is_linear, false, false};
    auto plan = planner.plan(called.hosts, std::nullopt);
    if (plan && called.message_bytes) {
        auto sized = planner.plan(called.hosts, called.message_bytes);
        if (!sized || plan->paced || !sized->paced) plan = std::move(sized);
    }
    if (!plan) return tl::unexpected(plan.error());
    called.plan = std::move(*plan);
    if (called.plan.algorithm == (is_linear ? std::optional(ClientAlgorithm::linear) : std::nullopt)) {
        if (called.message_bytes) called.predicted = called.plan.predicted;
    } else if (called.plan.paced) {
        called.plan = {false, "the plan is not for the algorithm that runs, which is the MPI "
                              "library's own choice", {}};
    }
    return called;
}

/// The helper tells no traffic between more hosts, and so gets no rates.
Result<CalledPlan> with_ring_rates(const NodePlanner& planner, CalledPlan called,
                                   const NodePlan& named) {
    called.predicted = named.predicted;
    const auto hosts = parse_hostlist(called.hosts.communicator);
    if (!hosts) return tl::unexpected(hosts.error());
    if (hosts->size() > traffic_hosts_max) {
        called.plan = {false, "a ring of so many hosts goes without rates", {}};
        return called;
    }
    auto plan = planner.plan(ring_traffic(planner.config().topology, *hosts));
    if (!plan) return tl::unexpected(plan.error());
    called.plan = std::move(*plan);
    return called;
}

/// Returns the size that the helper asks for a ring with (mpi-glue/ring_calls.hpp).
std::optional<std::uint64_t> step_bytes_of(const CollectivePattern& pattern,
                                           std::optional<std::uint64_t> message_bytes) {
    if (!message_bytes || pattern.operation->ring != RingOperation::chain) return message_bytes;
    return *message_bytes / (std::uint64_t{pattern.hosts.communicator.total()} * pattern.hosts.ranks_per_host);
}

/// Returns the algorithm that the call may take; without a size, the helper's own for large
/// messages.
glue::Algorithm able_algorithm_of(const CollectiveHosts& hosts, std::uint64_t min_message_bytes,
                                  std::optional<std::uint64_t> message_bytes) {
    const glue::Operation operation = *glue::operation_named(hosts.operation->name);
    if (!message_bytes) return glue::own_algorithm_of(operation);
    // the ranks agree on their largest message
    if (!glue::sizes_agree(operation) && *message_bytes < glue::own_from_bytes) return native;
    return glue::able_algorithm(operation, *message_bytes, hosts.ranks_per_host, min_message_bytes);
}

}  // namespace

Result<CalledPlan> plan_call(const NodePlanner& planner, const CollectiveHosts& hosts,
                             std::optional<std::uint64_t> message_bytes) {
    const auto pattern = planner.pattern_of(hosts);
    if (!pattern) return tl::unexpected(pattern.error());
    const auto step_bytes = step_bytes_of(*pattern, message_bytes);
    const glue::Algorithm able =
        able_algorithm_of(hosts, planner.config().policy.min_message_bytes, step_bytes);
    if (able == native) return with_rates(planner, asked_for(hosts, message_bytes, native));
    CalledPlan called = asked_for(hosts, message_bytes, able);
    called.hosts.algorithm = {false, able != ring, able == ring};
    const bool all_know_size = glue::sizes_agree(*glue::operation_named(hosts.operation->name));
    if (able == ring) called.step_bytes = step_bytes;
    const auto& asked_bytes = able == ring ? called.step_bytes : called.message_bytes;
    const auto named = planner.plan(called.hosts, all_know_size ? asked_bytes : std::nullopt);
    if (!named) return tl::unexpected(named.error());
    if (named->algorithm == ClientAlgorithm::ring) return with_ring_rates(planner, std::move(called), *named);
    if (named->algorithm) return with_rates(planner, std::move(called));
    auto left = with_rates(planner, asked_for(hosts, message_bytes, native));
    if (left && able == ring) left->no_ring = named->reason;
    return left;
}

TrafficRequest ring_traffic(const Topology& topology, const std::vector<std::string>& hosts) {
    TrafficRequest request{hosts, {}};
    std::map<std::size_t, std::size_t> place_of_cluster;
    std::vector<std::pair<std::size_t, std::uint32_t>> ring;  // the cluster's place, the host's number
    for (const std::string& name : hosts) {
        const std::size_t cluster = topology.cluster_of(*topology.find_host(name));
        const auto place = place_of_cluster.try_emplace(cluster, place_of_cluster.size()).first->second;
        ring.emplace_back(place, static_cast<std::uint32_t>(ring.size()));
    }
    std::ranges::sort(ring);
    for (std::size_t i = 0; i < ring.size() && ring.size() > 1; ++i)
        request.flows.push_back({ring[i].second, ring[(i + 1) % ring.size()].second, 1000});
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

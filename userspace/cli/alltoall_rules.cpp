// SPDX-License-Identifier: Apache-2.0
#include "cli/alltoall_rules.hpp"

#include <algorithm>

#include "formats/open_mpi_rules.hpp"
#include "models/alltoall_algorithms.hpp"

namespace headway {
namespace {

std::vector<std::uint64_t> sizes_of(const std::optional<std::uint64_t>& message_bytes) {
    if (message_bytes) return {*message_bytes};
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t bytes = rules_least_bytes; bytes <= rules_most_bytes; bytes *= 2) {
        sizes.push_back(bytes);
    }
    return sizes;
}

bool open_mpi_has(const AlgorithmTime& time) {
    return time.algorithm == AllToAllAlgorithm::linear ||
           time.algorithm == AllToAllAlgorithm::pairwise_ring;
}

}  // namespace

Result<AlltoallRules> make_alltoall_rules(
    const ChosenPattern& pattern, std::uint32_t ranks_per_host,
    std::optional<std::uint64_t> message_bytes,
    const ModelProgress& progress) {
    const Topology& topology = pattern.config.topology;
    const PlanPolicy& policy = pattern.config.policy.plan;
    const std::uint32_t processes = pattern.counts.total() * ranks_per_host;
    if (processes < 2) return failure("--rules: one rank exchanges nothing");
    const std::uint64_t ranks = ranks_per_host;
    AlltoallRules made;
    OpenMpiCommunicatorRule rule{processes, {{0, OpenMpiAlltoall::library_decides}}};
    const auto sizes = sizes_of(message_bytes);
    for (const std::uint64_t bytes : sizes) {
        if (progress) progress(rule.messages.size() - 1, sizes.size());
        const auto plan = plan_collective(
            topology, policy, {pattern.counts, pattern.counts, false, ranks_per_host}, bytes);
        if (!plan) return tl::unexpected(plan.error());
        auto times = predict_algorithms(topology, policy, plan->shares, bytes * ranks * ranks);
        const AlgorithmTime* best = best_algorithm(times);
        if (best != nullptr && !open_mpi_has(*best)) {
            ++made.replaced;
            std::erase_if(times, [](const AlgorithmTime& time) { return !open_mpi_has(time); });
            best = best_algorithm(times);
        }
        const bool pairwise =
            best != nullptr && best->algorithm == AllToAllAlgorithm::pairwise_ring;
        rule.messages.push_back({bytes * processes, pairwise ? OpenMpiAlltoall::pairwise
                                                             : OpenMpiAlltoall::linear});
    }
    if (message_bytes) {
        rule.messages.push_back({2 * *message_bytes * processes, OpenMpiAlltoall::library_decides});
    }
    // of equals one after the other the first holds on
    rule.messages.erase(std::unique(rule.messages.begin(), rule.messages.end(),
                                    [](const auto& a, const auto& b) {
                                        return a.algorithm == b.algorithm;
                                    }),
                        rule.messages.end());
    const std::vector<OpenMpiMessageRule> undecided{{0, OpenMpiAlltoall::library_decides}};
    const std::vector<OpenMpiCommunicatorRule> rules{
        {1, undecided}, std::move(rule), {processes + 1, undecided}};
    auto text = write_open_mpi_alltoall_rules(rules);
    if (!text) return tl::unexpected(text.error());
    made.text = std::move(*text);
    return made;
}

}  // namespace headway

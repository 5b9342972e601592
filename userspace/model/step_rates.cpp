// SPDX-License-Identifier: Apache-2.0
#include "model/step_rates.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "model/wire.hpp"

namespace headway {
namespace {

using Wide = unsigned __int128;

/// What a host sends to a cluster in a step.
struct Class {
    std::uint32_t host = 0;
    std::size_t cluster = 0;
    std::uint32_t messages = 0;
    std::vector<std::size_t> links;  ///< that any of them crosses, each once
    std::uint64_t bytes_per_s = 0;
};

class StepPlanner {
public:
    StepPlanner(const Topology& topology, const PlanPolicy& policy, const RankPlaces& places,
                AllToAllAlgorithm algorithm)
        : topology_(topology),
          policy_(policy),
          places_(places),
          is_ring_(algorithm == AllToAllAlgorithm::pairwise_ring) {
        set_capacities();
    }

    [[nodiscard]] std::uint32_t steps() const {
        const auto ranks = static_cast<std::uint32_t>(places_.host_of_rank.size());
        return (is_ring_ ? ranks : std::bit_ceil(ranks)) - 1;
    }

    /// The classes of one step, with the rates that it alone would allow.
    [[nodiscard]] std::vector<Class> classes_of(std::uint32_t step) const {
        std::vector<Class> classes = messages_of(step);
        std::vector<std::uint64_t> weight(capacity_bps_.size());
        for (const Class& one : classes) {
            for (const std::size_t link : one.links) weight[link] += one.messages;
        }
        for (Class& one : classes) {
            // a sender's own edge loses nothing, but carries no more than it can
            Wide least = edge_bps(one.host);
            for (const std::size_t link : one.links) {
                least = std::min(least, capacity_bps_[link] * one.messages / weight[link]);
            }
            one.bytes_per_s = static_cast<std::uint64_t>(least / 8);
        }
        return classes;
    }

    [[nodiscard]] std::uint64_t edge_bps(std::uint32_t host) const {
        return topology_.clusters()[places_.cluster_of_host[host]].host_rate.value;
    }

private:
    /// Links are trunks, upwards and downwards in turn, and then the hosts' edges.
    [[nodiscard]] std::size_t edge_in(std::uint32_t host) const {
        return 2 * topology_.trunk_count() + host;
    }

    /// U capacity / F, in bit/s.
    [[nodiscard]] Wide usable(BitsPerSecond rate) const {
        return Wide{rate.value} * policy_.target_utilisation_millionths * divisor_one /
               (Wide{utilisation_one} * policy_.divisor_factor_thousandths);
    }
    [[nodiscard]] Wide usable_trunk(BitsPerSecond rate, std::uint32_t senders) const {
        if (!policy_.trunk_divisor_thousandths) return usable(rate);
        return usable(rate) * senders * divisor_one / *policy_.trunk_divisor_thousandths;
    }

    void set_capacities() {
        HostCounts hosts{std::vector<std::uint32_t>(topology_.clusters().size())};
        for (const std::size_t cluster : places_.cluster_of_host) ++hosts.per_cluster[cluster];
        const std::vector<std::uint32_t> below = topology_.hosts_below(hosts);
        for (std::size_t t = 0; t < topology_.trunk_count(); ++t) {
            const TrunkSwitch& trunk = topology_.trunk(t);
            capacity_bps_.push_back(usable_trunk(trunk.trunk_up_rate, below[t]));
            capacity_bps_.push_back(usable_trunk(trunk.trunk_down_rate, hosts.total() - below[t]));
        }
        for (const std::size_t cluster : places_.cluster_of_host) {
            capacity_bps_.push_back(usable(topology_.clusters()[cluster].host_rate));
        }
    }

    [[nodiscard]] std::optional<std::uint32_t> partner(std::uint32_t rank,
                                                       std::uint32_t step) const {
        const auto ranks = static_cast<std::uint32_t>(places_.host_of_rank.size());
        const std::uint32_t to = is_ring_ ? (rank + step) % ranks : rank ^ step;
        if (to >= ranks) return std::nullopt;
        return to;
    }

    [[nodiscard]] std::vector<Class> messages_of(std::uint32_t step) const {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> messages;  // from host to host
        for (std::uint32_t rank = 0; rank < places_.host_of_rank.size(); ++rank) {
            const auto to = partner(rank, step);
            if (!to) continue;
            const auto [a, b] = std::pair(places_.host_of_rank[rank], places_.host_of_rank[*to]);
            if (a != b) messages.emplace_back(a, b);
        }
        const auto cluster = [&](std::uint32_t host) { return places_.cluster_of_host[host]; };
        std::sort(messages.begin(), messages.end(), [&](const auto& x, const auto& y) {
            return std::pair(x.first, cluster(x.second)) < std::pair(y.first, cluster(y.second));
        });
        std::vector<Class> classes;
        for (const auto& [from, to] : messages) {
            const bool is_same = !classes.empty() && classes.back().host == from &&
                                 classes.back().cluster == cluster(to);
            if (!is_same) classes.push_back({from, cluster(to), 0, {}, 0});
            ++classes.back().messages;
            classes.back().links.push_back(edge_in(to));
        }
        for (Class& one : classes) add_trunks(one);
        return classes;
    }

    void add_trunks(Class& one) const {
        const TrunkPath path = topology_.trunk_path(places_.cluster_of_host[one.host], one.cluster);
        for (const std::size_t trunk : path.up) one.links.push_back(2 * trunk);
        for (const std::size_t trunk : path.down) one.links.push_back(2 * trunk + 1);
        std::sort(one.links.begin(), one.links.end());
        one.links.erase(std::unique(one.links.begin(), one.links.end()), one.links.end());
    }

    const Topology& topology_;
    const PlanPolicy& policy_;
    const RankPlaces& places_;
    bool is_ring_;
    std::vector<Wide> capacity_bps_;  ///< usable
};

/// The least rates of all these steps.
Result<StepBlock> make_block(const Topology& topology, const RankPlaces& places,
                             std::uint32_t first_step,
                             const std::vector<std::vector<Class>>& steps) {
    StepBlock block{first_step, {}};
    block.rates.assign(places.cluster_of_host.size(),
                       std::vector<std::optional<BytesPerSecond>>(topology.clusters().size()));
    for (const auto& classes : steps) {
        for (const Class& one : classes) {
            if (one.bytes_per_s == 0) return failure("a step's shares are less than 8bit");
            auto& rate = block.rates[one.host][one.cluster];
            rate = BytesPerSecond{rate ? std::min(rate->value, one.bytes_per_s) : one.bytes_per_s};
        }
    }
    return block;
}

/// The longest of the classes', and of what a host sends in all.
double step_s(const StepPlanner& planner, const std::vector<Class>& classes,
              const StepBlock& block, double message_wire_bits) {
    std::vector<double> host_bits(block.rates.size());
    double longest_s = 0;
    for (const Class& one : classes) {
        const double bits = one.messages * message_wire_bits;
        host_bits[one.host] += bits;
        const double bps = 8.0 * static_cast<double>(block.rates[one.host][one.cluster]->value);
        const double edge_s = host_bits[one.host] / static_cast<double>(planner.edge_bps(one.host));
        longest_s = std::max({longest_s, bits / bps, edge_s});
    }
    return longest_s;
}

/// The longest one-way delay between clusters that take part.
double latency_s(const Topology& topology, const RankPlaces& places) {
    const std::set<std::size_t> clusters(places.cluster_of_host.begin(),
                                         places.cluster_of_host.end());
    double longest_s = 0;
    for (const std::size_t from : clusters) {
        for (const std::size_t to : clusters) {
            if (from == to) continue;
            longest_s = std::max(
                longest_s, static_cast<double>(topology.delay(from, to).count()) * 1e-9);
        }
    }
    return longest_s;
}

}  // namespace

bool is_stepwise(AllToAllAlgorithm algorithm) {
    return algorithm == AllToAllAlgorithm::pairwise_ring ||
           algorithm == AllToAllAlgorithm::pairwise_xor;
}

Result<StepPlan> plan_steps(const Topology& topology, const PlanPolicy& policy,
                            const RankPlaces& places, AllToAllAlgorithm algorithm,
                            std::optional<std::uint64_t> message_bytes) {
    const std::size_t ranks = places.host_of_rank.size();
    if (ranks < 2 || ranks > step_ranks_max) {
        return failure("steps are planned for 2 .. {} ranks", step_ranks_max);
    }
    const StepPlanner planner(topology, policy, places, algorithm);
    const std::uint32_t last = planner.steps();
    const auto block_steps =
        static_cast<std::uint32_t>((last + step_blocks_max - 1) / step_blocks_max);
    const double wire_bits = 8.0 * static_cast<double>(tcp_wire_bytes(message_bytes.value_or(0)));
    StepPlan plan;
    double total_s = 0;
    for (std::uint32_t first = 1; first <= last; first += block_steps) {
        std::vector<std::vector<Class>> steps;
        for (std::uint32_t step = first; step <= last && step < first + block_steps; ++step) {
            steps.push_back(planner.classes_of(step));
        }
        auto block = make_block(topology, places, first, steps);
        if (!block) return tl::unexpected(block.error());
        for (const auto& classes : steps) total_s += step_s(planner, classes, *block, wire_bits);
        plan.blocks.push_back(std::move(*block));
    }
    if (!message_bytes) return plan;
    // a message's way in each step, and before it those of the ranks that wait for all
    const double delays = last * (1.0 + std::bit_width(ranks - 1));
    total_s += delays * latency_s(topology, places);
    plan.predicted = Prediction{
        total_s, total_s, 0, fmt::format("{} steps at their own rates, each waits for all", last)};
    return plan;
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "models/alltoall_algorithms.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/text_lines.hpp"
#include "base/wire.hpp"
#include "plan/planner_measured.hpp"

namespace headway {
namespace {

using Rates = RatesByCluster;

/// In the order of AllToAllAlgorithm.
constexpr std::array<std::string_view, all_to_all_algorithm_count> algorithm_names{
    "linear", "pairwise_ring", "pairwise_xor", "alltoall_b", "grid"};

/// Hosts one after the other, those of a cluster together, as ranks mostly are.
std::vector<std::size_t> clusters_of_ranks(const Exchange& exchange) {
    std::vector<std::size_t> groups;
    for (std::size_t i = 0; i < exchange.groups.size(); ++i) {
        groups.insert(groups.end(), exchange.groups[i].hosts, i);
    }
    return groups;
}

/// One step in which every host sends one message: who sends how many where.
using Step = std::map<std::pair<std::size_t, std::size_t>, std::uint32_t>;

class Steps {
public:
    Steps(const Topology& topology, const Exchange& exchange, double use, const Rates* rates)
        : whole_(topology, exchange, use), rates_(rates) {}

    /// Steps with the same traffic take the same time.
    Prediction time(const Step& step) {
        const auto known = times_.find(step);
        if (known != times_.end()) return known->second;
        return times_.emplace(step, predict(network_of(step))).first->second;
    }

private:
    /// The exchange of one step, in which each host sends a message.
    [[nodiscard]] ExchangeNetwork network_of(const Step& step) const {
        ExchangeNetwork network = whole_;
        network.fluid.groups.clear();
        network.pairs.clear();
        for (std::size_t g = 0; g < whole_.pairs.size(); ++g) {
            const auto found = step.find(whole_.pairs[g]);
            if (found == step.end()) continue;
            FluidGroup group = whole_.fluid.groups[g];
            for (FluidUse& use : group.path) {
                use.flows = use.senders = whole_.links[use.link].is_trunk() ? found->second : 1;
            }
            // one message has all of its class
            const auto [i, j] = whole_.pairs[g];
            if (rates_ != nullptr) {
                const auto& rate = (*rates_)[i][whole_.groups[j].cluster];
                if (rate) group.cap_bps = 8.0 * static_cast<double>(rate->value);
            }
            network.fluid.groups.push_back(std::move(group));
            network.pairs.push_back(whole_.pairs[g]);
        }
        network.spread_over_links();
        return network;
    }

    ExchangeNetwork whole_;
    const Rates* rates_;
    std::map<Step, Prediction> times_;
};

template <class Partner>
Step make_step(const std::vector<std::size_t>& groups, const Partner& partner) {
    Step step;
    for (std::size_t rank = 0; rank < groups.size(); ++rank) {
        ++step[{groups[rank], groups[partner(rank)]}];
    }
    return step;
}

void append(Prediction& sum, const Prediction& step) {
    sum.low_s += step.low_s;
    sum.high_s += step.high_s;
    sum.timeouts += step.timeouts;
}

Prediction stepwise(Steps& steps, const std::vector<std::size_t>& groups, bool exclusive_or) {
    const std::size_t hosts = groups.size();
    Prediction sum;
    for (std::size_t s = 1; s < hosts; ++s) {
        append(sum, steps.time(make_step(groups, [&](std::size_t rank) {
                   return exclusive_or ? rank ^ s : (rank + s) % hosts;
               })));
    }
    sum.reason = counted(hosts - 1, "step") + ", each waits for the one before";
    return sum;
}

/// As with exclusive-or, but nobody waits: one delay in all.  Without pacing messages of
/// different steps meet in the buffers as if all were sent at once.
Prediction without_waiting(const Prediction& waiting, const Prediction& at_once, double latency_s,
                           double timeout_s, std::size_t hosts) {
    Prediction prediction = waiting;
    prediction.low_s -= static_cast<double>(hosts - 2) * latency_s;
    prediction.timeouts = at_once.timeouts;
    prediction.high_s = prediction.low_s + at_once.timeouts * timeout_s;
    prediction.reason = counted(hosts - 1, "message") + " of a host one after the other";
    return prediction;
}

/// All within the clusters first, what goes to the other cluster collected at
/// the partner that sends it; then one message for each pair of partners.
Prediction grid(const Topology& topology, const Exchange& exchange, double use,
                     const Rates* rates) {
    const double n1 = exchange.groups[0].hosts;
    const double n2 = exchange.groups[1].hosts;
    const double message = exchange.bytes[0][1];
    Exchange inside = exchange;
    inside.bytes = {{message * (1 + n2 / n1), 0}, {0, message * (1 + n1 / n2)}};
    ExchangeNetwork local(topology, inside, use);
    if (rates != nullptr) local.cap_flows(*rates);
    Prediction sum = predict(local);

    // max(n1, n2) messages each way, of min(n1, n2) blocks
    const ExchangeNetwork between(topology, exchange, use);
    ExchangeNetwork kept = between;
    kept.fluid.groups.clear();
    kept.pairs.clear();
    for (std::size_t g = 0; g < between.pairs.size(); ++g) {
        const auto [i, j] = between.pairs[g];
        if (i == j) continue;
        FluidGroup group = between.fluid.groups[g];
        group.bytes = tcp_wire_bytes_of(message * std::min(n1, n2));
        const double messages = std::max(n1, n2);
        group.path.front().flows = messages / exchange.groups[i].hosts;
        group.path.back().flows = messages / exchange.groups[j].hosts;
        group.path.back().senders = group.path.back().flows;
        for (std::size_t l = 1; l + 1 < group.path.size(); ++l) group.path[l].flows = messages;
        kept.fluid.groups.push_back(std::move(group));
        kept.pairs.push_back(between.pairs[g]);
    }
    kept.spread_over_links();
    if (rates != nullptr) kept.cap_flows(*rates);
    append(sum, predict(kept));
    sum.reason = fmt::format("{} over the trunk each way instead of {}",
                             counted(static_cast<std::uint64_t>(std::max(n1, n2)), "message"), n1 * n2);
    return sum;
}

bool is_power_of_two(std::size_t number) { return (number & (number - 1)) == 0; }

/// Every algorithm that fits, in the order of their names in the enumeration.
std::vector<std::pair<AllToAllAlgorithm, Prediction>> times(const Topology& topology,
                                                            const Exchange& exchange, double use,
                                                            const Rates* rates) {
    std::vector<std::pair<AllToAllAlgorithm, Prediction>> found;
    ExchangeNetwork network(topology, exchange, use);
    if (rates != nullptr) network.cap_flows(*rates);
    const Prediction at_once = predict(network);
    found.emplace_back(AllToAllAlgorithm::linear, at_once);

    const auto groups = clusters_of_ranks(exchange);
    if (groups.size() >= 2 && groups.size() <= stepwise_hosts_max) {
        Steps steps(topology, exchange, use, rates);
        found.emplace_back(AllToAllAlgorithm::pairwise_ring, stepwise(steps, groups, false));
        if (is_power_of_two(groups.size())) {
            const Prediction waiting = stepwise(steps, groups, true);
            found.emplace_back(AllToAllAlgorithm::pairwise_xor, waiting);
            found.emplace_back(AllToAllAlgorithm::alltoall_b,
                               without_waiting(waiting, at_once,
                                               network.latency_s(),
                                               rto_s(topology), groups.size()));
        }
    }
    if (exchange.groups.size() == 2) {
        found.emplace_back(AllToAllAlgorithm::grid,
                           grid(topology, exchange, use, rates));
    }
    return found;
}

}  // namespace

std::string_view algorithm_name(AllToAllAlgorithm algorithm) {
    return algorithm_names[static_cast<std::size_t>(algorithm)];
}

std::vector<AlgorithmTime> predict_algorithms(const Topology& topology, const PlanPolicy& policy,
                                              const AllToAllPlan& plan,
                                              std::uint64_t message_bytes) {
    const Exchange exchange = exchange_among(plan.hosts, static_cast<double>(message_bytes), plan.connections);
    if (exchange.groups.empty()) return {};
    const auto unpaced = times(topology, exchange, 1, nullptr);
    auto paced = unpaced;
    if (plan.paced()) {
        Rates rates;
        for (const HostGroup& group : exchange.groups) rates.push_back(plan.rates[group.cluster]);
        paced = times(topology, exchange,
                      policy.target_utilisation(),
                      &rates);
    }
    std::vector<AlgorithmTime> found;
    for (std::size_t i = 0; i < unpaced.size(); ++i) {
        found.push_back({unpaced[i].first, unpaced[i].second, paced[i].second});
    }
    return found;
}

const AlgorithmTime* best_algorithm(std::span<const AlgorithmTime> times) {
    constexpr double tolerance = 1e-9;  // equal times differ by rounding
    const AlgorithmTime* best = nullptr;
    for (const AlgorithmTime& time : times) {
        if (best == nullptr || time.paced.high_s < best->paced.high_s * (1 - tolerance)) {
            best = &time;
        }
    }
    return best;
}

BytesPerSecond remote_rate(const AllToAllPlan& plan, std::size_t cluster) {
    BytesPerSecond sum;
    for (std::size_t to = 0; to < plan.rates.size(); ++to) {
        if (to != cluster) sum.value += plan.rates[cluster][to].value_or(BytesPerSecond{}).value;
    }
    return sum;
}

std::uint64_t pair_window_bytes(const AllToAllPlan& plan, const Topology& topology,
                                std::size_t from, std::size_t to) {
    constexpr std::uint64_t ns_per_s = 1'000'000'000;
    const auto round_trip_ns = static_cast<std::uint64_t>(2 * topology.delay(from, to).count());
    const auto bits_ns = static_cast<unsigned __int128>(plan.pair_rate.value) * round_trip_ns;
    return static_cast<std::uint64_t>((bits_ns + 8 * ns_per_s - 1) / (8 * ns_per_s));
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "plan/traffic_plan.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "plan/prediction.hpp"

namespace headway {
namespace {

constexpr double light_part = 1.0 / 50;  ///< of all bytes
constexpr double least_part = 1.0 / 8;   ///< of the largest flow

/// Between two hosts each once, the largest first.
std::vector<HostFlow> added_up(std::span<const HostFlow> flows) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> sums;
    for (const HostFlow& flow : flows) {
        if (flow.from != flow.to && flow.bytes > 0) sums[{flow.from, flow.to}] += flow.bytes;
    }
    std::vector<HostFlow> sorted;
    for (const auto& [pair, bytes] : sums) sorted.push_back({pair.first, pair.second, bytes});
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const HostFlow& a, const HostFlow& b) { return a.bytes > b.bytes; });
    return sorted;
}

/// How many of the sorted flows are not light.  Equal ones are alike, all or none.
std::size_t count_heavy(const std::vector<HostFlow>& sorted) {
    double all = 0;
    for (const HostFlow& flow : sorted) all += flow.bytes;
    double light = 0;
    std::size_t heavy = sorted.size();
    while (heavy > 0) {
        std::size_t first = heavy - 1;
        while (first > 0 && sorted[first - 1].bytes == sorted[heavy - 1].bytes) --first;
        light += static_cast<double>(heavy - first) * sorted[first].bytes;
        if (light > all * light_part) break;
        heavy = first;
    }
    return heavy;
}

Exchange exchange_of(const Topology& topology, const std::vector<std::size_t>& hosts,
                     std::span<const HostFlow> heavy) {
    // in units of wire bytes that rounding does not matter for
    constexpr double largest_bytes = 1 << 30;
    std::vector<std::vector<double>> bytes(hosts.size(), std::vector<double>(hosts.size(), 0));
    for (const HostFlow& flow : heavy) {
        bytes[flow.from][flow.to] =
            largest_bytes * std::max(flow.bytes / heavy.front().bytes, least_part);
    }
    return make_exchange(topology, hosts, std::move(bytes));
}

/// Classes whose flows meet no contended link lose their limit.
void free_uncontended(ExchangeRates& rates, const Exchange& exchange,
                      const ExchangeNetwork& network, const std::vector<bool>& contended) {
    std::set<std::pair<std::size_t, std::size_t>> limited;
    for (std::size_t g = 0; g < network.pairs.size(); ++g) {
        const auto [from, to] = network.pairs[g];
        const auto& path = network.fluid.groups[g].path;
        if (std::any_of(path.begin(), path.end(),
                        [&](const FluidUse& use) { return contended[use.link]; }))
            limited.emplace(from, exchange.groups[to].cluster);
    }
    for (std::size_t host = 0; host < rates.size(); ++host) {
        for (std::size_t cluster = 0; cluster < rates[host].size(); ++cluster) {
            if (!limited.contains({host, cluster})) rates[host][cluster].reset();
        }
    }
}

void limit_light(ExchangeRates& rates, const Exchange& exchange, std::span<const HostFlow> heavy,
                 std::span<const HostFlow> light) {
    std::optional<BytesPerSecond> least;
    for (const auto& row : rates) {
        for (const auto& rate : row) {
            if (rate && (!least || *rate < *least)) least = rate;
        }
    }
    std::set<std::pair<std::size_t, std::size_t>> decided;
    for (const HostFlow& flow : heavy)
        decided.emplace(flow.from, exchange.groups[flow.to].cluster);
    for (const HostFlow& flow : light) {
        const std::size_t cluster = exchange.groups[flow.to].cluster;
        if (!decided.contains({flow.from, cluster})) rates[flow.from][cluster] = least;
    }
}

/// Among the contended links, the one that is busy longest.
std::string reason_of(const Topology& topology, const Exchange& exchange,
                      const ExchangeNetwork& network, const EarliestEnd& earliest) {
    const ExchangeLink& link = network.links[*earliest.link];
    return fmt::format("{}, {}, is divided by what each host sends through it",
                       exchange_link_text(topology, exchange, link),
                       rate_to_text(exchange_link_rate(topology, exchange, link)));
}

}  // namespace

Result<TrafficPlan> plan_traffic(const Topology& topology, const PlanPolicy& policy,
                                 const std::vector<std::size_t>& hosts,
                                 std::span<const HostFlow> flows) {
    const auto sorted = added_up(flows);
    if (sorted.empty()) return TrafficPlan{false, "no host sends to another", {}};
    const auto heavy = std::span(sorted).first(count_heavy(sorted));
    const Exchange exchange = exchange_of(topology, hosts, heavy);
    const ExchangeNetwork network = make_network(topology, exchange, policy.target_utilisation());
    const auto contended = contended_links(topology, exchange, network);
    if (std::none_of(contended.begin(), contended.end(), [](bool is) { return is; })) {
        return TrafficPlan{
            false, "no link gets more than it carries, whatever is sent at once", {}};
    }
    const EarliestEnd earliest = earliest_end(network.fluid);
    TrafficPlan plan{true, reason_of(topology, exchange, network, earliest),
                     rates_for_end(topology, exchange, network,
                                   earliest.end_s * policy.divisor_factor())};
    if (has_zero_rate(plan.rates)) {
        return failure("the shares of some hosts are less than 8bit, the slowest rate there is");
    }
    free_uncontended(plan.rates, exchange, network, contended);
    limit_light(plan.rates, exchange, heavy, std::span(sorted).subspan(heavy.size()));
    return plan;
}

}  // namespace headway

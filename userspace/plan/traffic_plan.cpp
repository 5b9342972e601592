// SPDX-License-Identifier: Apache-2.0
#include "plan/traffic_plan.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace headway {
namespace {

constexpr double light_part = 1.0 / 50;  ///< of all bytes
constexpr double least_part = 1.0 / 8;   ///< of the largest flow
constexpr double largest_bytes = 1 << 30;  ///< as planned: rounding to bytes does not matter then

/// The part of each byte that a receiver sends back, if it acknowledges every segment.
constexpr double acknowledged_part = 84.0 / 1538;

std::vector<HostFlow> with_acknowledgements(std::span<const HostFlow> flows) {
    std::vector<HostFlow> all(flows.begin(), flows.end());
    for (const HostFlow& flow : flows) all.push_back({flow.to, flow.from, flow.bytes * acknowledged_part});
    return all;
}

/// Between two hosts each once, the largest first.
std::vector<HostFlow> added_up(std::span<const HostFlow> flows) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> sums;
    for (const HostFlow& flow : flows) {
        if (flow.from != flow.to && flow.bytes > 0) sums[{flow.from, flow.to}] += flow.bytes;
    }
    std::vector<HostFlow> sorted;
    for (const auto& [pair, bytes] : sums) sorted.push_back({pair.first, pair.second, bytes});
    std::ranges::stable_sort(sorted, std::greater(), &HostFlow::bytes);
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
    std::vector<std::vector<double>> bytes(hosts.size(), std::vector<double>(hosts.size(), 0));
    for (const HostFlow& flow : heavy) {
        bytes[flow.from][flow.to] =
            largest_bytes * std::max(flow.bytes / heavy.front().bytes, least_part);
    }
    return make_exchange(topology, hosts, std::move(bytes));
}

/// Keeps the needed rates of classes whose flows meet a contended link.  Classes with light flows
/// only get the least of these.
RatesByCluster limits(const RatesByCluster& needed, const ExchangeNetwork& network,
                      const std::vector<bool>& contended, std::span<const HostFlow> light) {
    RatesByCluster rates = needed;
    for (auto& of_host : rates) std::ranges::fill(of_host, std::nullopt);
    std::optional<BytesPerSecond> least;
    for (std::size_t g = 0; g < network.pairs.size(); ++g) {
        const auto meets_contention = [&](const FluidUse& use) { return contended[use.link]; };
        if (std::ranges::none_of(network.fluid.groups[g].path, meets_contention)) continue;
        const auto [from, to] = network.pairs[g];
        const std::size_t cluster = network.groups[to].cluster;
        rates[from][cluster] = needed[from][cluster];
        least = std::min(least.value_or(*needed[from][cluster]), *needed[from][cluster]);
    }
    for (const HostFlow& flow : light) {
        const std::size_t cluster = network.groups[flow.to].cluster;
        if (!needed[flow.from][cluster]) rates[flow.from][cluster] = least;
    }
    return rates;
}

}  // namespace

Result<TrafficPlan> plan_traffic(const Topology& topology, const PlanPolicy& policy,
                                 const std::vector<std::size_t>& hosts,
                                 std::span<const HostFlow> flows, FlowsOf what) {
    const bool is_one_call = what == FlowsOf::one_call;
    const auto sorted = is_one_call ? added_up(with_acknowledgements(flows)) : added_up(flows);
    if (sorted.empty()) return TrafficPlan{false, "no host sends to another", {}};
    const auto heavy = std::span(sorted).first(is_one_call ? sorted.size() : count_heavy(sorted));
    const ExchangeNetwork network(topology, exchange_of(topology, hosts, heavy),
                                  policy.target_utilisation());
    const auto contended = network.contended_links();
    if (std::ranges::find(contended, true) == contended.end()) {
        return TrafficPlan{
            false, "no link gets more than it carries, whatever is sent at once", {}};
    }
    const auto [earliest_s, busiest] = network.earliest_end();
    const double end_s = earliest_s * policy.divisor_factor();
    const auto needed = network.rates_for_end(end_s);
    if (!needed) return tl::unexpected(needed.error());
    return TrafficPlan{true,
                       fmt::format("{}, {}, is divided by what each host sends through it",
                                   network.name_of(*busiest), rate_to_text(topology.rate_of(network.links[*busiest]))),
                       limits(*needed, network, contended,
                              std::span(sorted).subspan(heavy.size())),
                       end_s * heavy.front().bytes / largest_bytes};
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "plan/prediction.hpp"

#include <algorithm>

#include "plan/planner_measured.hpp"

namespace headway {
namespace {

/// Time for which a link is busy if it is never idle.
double busy_s(const FluidNetwork& network, std::uint32_t link) {
    double bits = 0;
    for (const FluidGroup& group : network.groups) {
        for (const FluidUse& use : group.path) {
            if (use.link == link) bits += 8 * group.bytes * use.flows;
        }
    }
    return bits / network.links[link].capacity_bps;
}

std::uint32_t busiest_link(const FluidNetwork& network) {
    std::vector<double> busy(network.links.size());
    for (std::uint32_t l = 0; l < busy.size(); ++l) busy[l] = busy_s(network, l);
    return static_cast<std::uint32_t>(std::max_element(busy.begin(), busy.end()) - busy.begin());
}

/// The link that overflows by most; none if none does.
std::optional<std::uint32_t> worst_overflow(const FluidNetwork& network,
                                            const FluidResult& result) {
    std::optional<std::uint32_t> worst;
    const auto excess = [&](std::uint32_t l) {
        return result.links[l].peak_bytes - network.links[l].buffer_bytes;
    };
    for (std::uint32_t l = 0; l < result.links.size(); ++l) {
        if (result.links[l].overflows && (!worst || excess(l) > excess(*worst))) worst = l;
    }
    return worst;
}

}  // namespace

std::string exchange_link_text(const Topology& topology, const Exchange& exchange,
                               const ExchangeLink& link) {
    const bool trunk =
        link.kind == ExchangeLink::Kind::trunk_up || link.kind == ExchangeLink::Kind::trunk_down;
    const std::string& name =
        topology.trunk(trunk ? link.owner : exchange.groups[link.owner].cluster).name;
    switch (link.kind) {
        case ExchangeLink::Kind::trunk_up: return fmt::format("trunk of {} (up)", name);
        case ExchangeLink::Kind::trunk_down: return fmt::format("trunk of {} (down)", name);
        case ExchangeLink::Kind::edge_out: return fmt::format("edge of a sender in {}", name);
        case ExchangeLink::Kind::edge_in: break;
    }
    return fmt::format("edge of a receiver in {}", name);
}

BitsPerSecond exchange_link_rate(const Topology& topology, const Exchange& exchange,
                                 const ExchangeLink& link) {
    switch (link.kind) {
        case ExchangeLink::Kind::trunk_up: return topology.trunk(link.owner).trunk_up_rate;
        case ExchangeLink::Kind::trunk_down: return topology.trunk(link.owner).trunk_down_rate;
        default: break;
    }
    return topology.clusters()[exchange.groups[link.owner].cluster].host_rate;
}

std::string seconds_text(double seconds) {
    if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
    if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
    return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string bytes_text(double bytes) {
    constexpr double kib = 1024;
    if (bytes >= kib * kib * kib) return fmt::format("{:.3g} GiB", bytes / (kib * kib * kib));
    if (bytes >= kib * kib) return fmt::format("{:.3g} MiB", bytes / (kib * kib));
    if (bytes >= kib) return fmt::format("{:.3g} KiB", bytes / kib);
    return fmt::format("{:.3g} bytes", bytes);
}

double exchange_latency_s(const Topology& topology, const Exchange& exchange) {
    double longest_s = 0;
    for (const HostGroup& from : exchange.groups) {
        for (const HostGroup& to : exchange.groups) {
            if (from.cluster == to.cluster) continue;
            const double delay_s =
                static_cast<double>(topology.delay(from.cluster, to.cluster).count()) * 1e-9;
            longest_s = std::max(longest_s, delay_s);
        }
    }
    return longest_s;
}

Prediction predict(const Topology& topology, const Exchange& exchange,
                   const ExchangeNetwork& network) {
    Prediction prediction;
    if (network.fluid.groups.empty()) {
        prediction.reason = "nothing is sent";
        return prediction;
    }
    const FluidResult result = fluid_run(network.fluid);
    const double latency_s = exchange_latency_s(topology, exchange);
    prediction.low_s = result.time_s + latency_s;
    prediction.high_s = result.worst_s(rto_s(topology)) + latency_s;
    prediction.timeouts = result.timeouts;

    const auto name = [&](std::uint32_t l) {
        return exchange_link_text(topology, exchange, network.links[l]);
    };
    const std::uint32_t busiest = busiest_link(network.fluid);
    prediction.reason = fmt::format("the {} is busy for {}", name(busiest),
                                    seconds_text(busy_s(network.fluid, busiest)));
    if (const auto worst = worst_overflow(network.fluid, result)) {
        prediction.reason += fmt::format("; {} can pile up in front of the {}, whose buffer {}",
                                         bytes_text(result.links[*worst].peak_bytes), name(*worst),
                                         network.fluid.links[*worst].buffer_bytes > 0
                                             ? "is relied on for " +
                                                   bytes_text(
                                                       network.fluid.links[*worst].buffer_bytes)
                                             : "is not known");
    } else {
        prediction.reason += "; no buffer can overflow";
    }
    return prediction;
}

void cap_flows(ExchangeNetwork& network, const Exchange& exchange,
               const std::vector<std::vector<std::optional<BytesPerSecond>>>& rates) {
    // what one host of a group sends in its class towards a cluster
    std::vector<std::vector<double>> bytes(exchange.groups.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i].resize(rates[i].size(), 0);
    const auto cluster_of = [&](std::size_t group) { return exchange.groups[group].cluster; };
    for (std::size_t g = 0; g < network.pairs.size(); ++g) {
        const auto [i, j] = network.pairs[g];
        const FluidGroup& group = network.fluid.groups[g];
        bytes[i][cluster_of(j)] += group.bytes * group.path.front().flows;
    }
    for (std::size_t g = 0; g < network.pairs.size(); ++g) {
        const auto [i, j] = network.pairs[g];
        FluidGroup& group = network.fluid.groups[g];
        const auto& rate = rates[i][cluster_of(j)];
        group.cap_bps = rate ? 8.0 * static_cast<double>(rate->value) * group.bytes /
                                   bytes[i][cluster_of(j)]
                             : fluid_no_cap;
    }
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "plan/exchange_division.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "plan/prediction.hpp"

namespace headway {
namespace {

/// Bytes/s for the kernel.  Rates come from divisions that are exact up to a few
/// units in the last place; what is a whole number but for that stays one.
BytesPerSecond whole_rate(double bps) {
    return {static_cast<std::uint64_t>(std::floor(bps / 8 * (1 + 1e-12)))};
}

}  // namespace

EarliestEnd earliest_end(const FluidNetwork& network) {
    std::vector<double> bits(network.links.size(), 0);
    for (const FluidGroup& group : network.groups) {
        for (const FluidUse& use : group.path) bits[use.link] += 8 * group.bytes * use.flows;
    }
    EarliestEnd earliest;
    for (std::size_t l = 0; l < bits.size(); ++l) {
        const double busy_s = bits[l] / network.links[l].capacity_bps;
        if (busy_s > earliest.end_s) earliest = {busy_s, l};
    }
    return earliest;
}

ExchangeRates rates_for_end(const Topology& topology, const Exchange& exchange,
                            const ExchangeNetwork& network, double end_s) {
    std::vector<std::vector<double>> bps(exchange.groups.size());
    for (auto& row : bps) row.resize(topology.clusters().size(), 0);
    for (std::size_t g = 0; g < network.pairs.size(); ++g) {
        const auto [i, j] = network.pairs[g];
        const FluidGroup& group = network.fluid.groups[g];
        bps[i][exchange.groups[j].cluster] += 8 * group.bytes * group.path.front().flows / end_s;
    }
    ExchangeRates rates(bps.size());
    for (std::size_t i = 0; i < bps.size(); ++i) {
        rates[i].resize(bps[i].size());
        for (std::size_t c = 0; c < bps[i].size(); ++c) {
            // no more than the edge, which a sender cannot exceed anyway
            const BitsPerSecond edge = topology.clusters()[exchange.groups[i].cluster].host_rate;
            if (!(bps[i][c] > 0)) continue;
            rates[i][c] = whole_rate(std::min(bps[i][c], static_cast<double>(edge.value)));
        }
    }
    return rates;
}

std::vector<bool> contended_links(const Topology& topology, const Exchange& exchange,
                                  const ExchangeNetwork& network) {
    std::vector<std::set<std::size_t>> senders(network.links.size());
    for (std::size_t g = 0; g < network.pairs.size(); ++g) {
        for (const FluidUse& use : network.fluid.groups[g].path)
            senders[use.link].insert(network.pairs[g].first);
    }
    std::vector<bool> contended(network.links.size());
    for (std::size_t l = 0; l < contended.size(); ++l) {
        double bps = 0;
        for (const std::size_t sender : senders[l]) {
            const HostGroup& group = exchange.groups[sender];
            bps += group.hosts *
                   static_cast<double>(topology.clusters()[group.cluster].host_rate.value);
        }
        const auto rate = exchange_link_rate(topology, exchange, network.links[l]);
        contended[l] = bps > static_cast<double>(rate.value);
    }
    return contended;
}

bool has_zero_rate(const ExchangeRates& rates) {
    return std::any_of(rates.begin(), rates.end(), [](const auto& row) {
        return std::any_of(row.begin(), row.end(),
                           [](const auto& rate) { return rate && rate->value == 0; });
    });
}

}  // namespace headway

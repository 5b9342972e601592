// SPDX-License-Identifier: Apache-2.0
#include "plan/exchange.hpp"

#include <algorithm>
#include <numeric>

#include "base/wire.hpp"

namespace headway {

Exchange exchange_among(const HostCounts& hosts, double message_bytes, double connections) {
    Exchange exchange;
    exchange.connections = connections;
    for (std::size_t c = 0; c < hosts.per_cluster.size(); ++c) {
        if (hosts.per_cluster[c] > 0) exchange.groups.push_back({c, hosts.per_cluster[c]});
    }
    const std::size_t count = exchange.groups.size();
    exchange.bytes.assign(count, std::vector<double>(count, message_bytes));
    exchange.message_bytes = exchange.alltoall_bytes = message_bytes;
    return exchange;
}

Result<Exchange> exchange_with_root(RootDoes root_does, HostCounts hosts, std::size_t root_cluster,
                                    double message_bytes) {
    if (root_cluster >= hosts.per_cluster.size() || hosts.per_cluster[root_cluster] == 0) {
        return failure("the root is not one of the hosts that take part");
    }
    --hosts.per_cluster[root_cluster];
    Exchange exchange = exchange_among(hosts, 0);
    const std::size_t root = exchange.groups.size();
    exchange.groups.push_back({root_cluster, 1});
    exchange.bytes.assign(root + 1, std::vector<double>(root + 1, 0));
    for (std::size_t i = 0; i < root; ++i) {
        (root_does == RootDoes::receive ? exchange.bytes[i][root] : exchange.bytes[root][i]) =
            message_bytes;
    }
    exchange.message_bytes = message_bytes;
    if (root_does == RootDoes::receive) exchange.gather_bytes = message_bytes;
    return exchange;
}

Exchange make_exchange(const Topology& topology, const std::vector<std::size_t>& hosts,
                       std::vector<std::vector<double>> bytes) {
    Exchange exchange;
    for (const std::size_t host : hosts) exchange.groups.push_back({topology.cluster_of(host), 1});
    exchange.bytes = std::move(bytes);
    double sum = 0, pairs = 0;  // one message from a host to another, where nobody has counted them
    for (const std::vector<double>& row : exchange.bytes) {
        sum = std::accumulate(row.begin(), row.end(), sum);
        pairs += static_cast<double>(std::ranges::count_if(row, [](double of_pair) { return of_pair > 0; }));
    }
    exchange.message_bytes = sum / std::max(1.0, pairs);
    return exchange;
}

ExchangeNetwork::ExchangeNetwork(const Topology& of, const Exchange& exchange, double utilisation)
    : topology(&of), groups(exchange.groups), connections(exchange.connections) {
    // links come in pairs, one cable each; the lowest bit of their number is the direction
    for (const HostGroup& group : groups) {
        add_link({LinkKind::edge_out, group.cluster}, std::nullopt);
        add_link({LinkKind::edge_in, group.cluster},
                 of.clusters()[group.cluster].host_buffer_bytes);
    }
    for (std::size_t t = 0; t < of.trunk_count(); ++t) {
        add_link({LinkKind::trunk_up, t}, of.trunk(t).trunk_buffer_bytes);
        add_link({LinkKind::trunk_down, t}, of.trunk(t).trunk_buffer_bytes);
    }
    for (FluidLink& link : fluid.links) link.capacity_bps *= utilisation;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        for (std::size_t j = 0; j < groups.size(); ++j) add_pair(i, j, exchange.bytes[i][j]);
    }
    spread_over_links();
}

void ExchangeNetwork::add_link(const TopologyLink& link,
                               const std::optional<std::uint64_t>& buffer_bytes) {
    const auto number = static_cast<std::uint32_t>(links.size());
    links.push_back(link);
    fluid.links.push_back({static_cast<double>(topology->rate_of(link).value),
                           buffer_part * static_cast<double>(buffer_bytes.value_or(0)),
                           number ^ 1U, link.kind == LinkKind::edge_out});
}

void ExchangeNetwork::add_pair(std::size_t i, std::size_t j, double payload_bytes) {
    const HostGroup& from = groups[i];
    const HostGroup& to = groups[j];
    const double senders = from.hosts - (i == j ? 1.0 : 0.0);   // at one receiver
    const double receivers = to.hosts - (i == j ? 1.0 : 0.0);   // of one sender
    if (!(payload_bytes > 0) || senders < 1 || receivers < 1) return;
    const auto number = [](std::size_t cable, bool back) {
        return static_cast<std::uint32_t>(2 * cable + (back ? 1 : 0));
    };
    const double flows = from.hosts * static_cast<double>(to.hosts);
    FluidGroup group;
    group.bytes = tcp_wire_bytes_of(payload_bytes);
    group.sender = static_cast<std::uint32_t>(i);
    group.path.push_back({number(i, false), receivers, 1});
    for (const TopologyLink& trunk : topology->trunk_path(from.cluster, to.cluster)) {
        const bool down = trunk.kind == LinkKind::trunk_down;
        group.path.push_back({number(groups.size() + trunk.owner, down), flows, 1.0 * from.hosts});
    }
    group.path.push_back({number(j, true), senders, senders});
    fluid.groups.push_back(std::move(group));
    pairs.emplace_back(i, j);
}

void ExchangeNetwork::spread_over_links() {
    const auto hash_of = [&](std::size_t link) {
        return links[link].is_trunk() ? topology->trunk(links[link].owner).trunk_links : ParallelLinks{};
    };
    std::vector<std::vector<EqualFlows>> flows(links.size());
    for (const FluidGroup& group : fluid.groups) {
        for (const FluidUse& use : group.path) {
            const ParallelLinks hashed = hash_of(use.link);
            if (!hashed.are_hashed()) continue;
            const double each = hashed.hash == LinkHash::flow ? connections : 1;
            flows[use.link].push_back({use.flows * each, group.bytes / each});
        }
    }
    const auto crossed = std::ranges::count_if(flows, [](const auto& of_link) { return !of_link.empty(); });
    const std::uint32_t draws = draws_of(*topology, static_cast<std::uint32_t>(crossed));
    fills.assign(links.size(), {});
    for (std::size_t l = 0; l < links.size(); ++l) {
        if (hash_of(l).are_hashed()) fills[l] = fill_of(hash_of(l).count, flows[l], draws);
        fluid.links[l].fill = fills[l].worst;
    }
    for (FluidGroup& group : fluid.groups) {
        for (FluidUse& use : group.path) use.flows /= fills[use.link].effective_links();
    }
}

/// Adds up the bytes that one host of each group sends towards each cluster, on the wire.
std::vector<std::vector<double>> ExchangeNetwork::class_bytes() const {
    std::vector<std::vector<double>> bytes(groups.size(),
                                           std::vector<double>(topology->clusters().size(), 0));
    for (std::size_t g = 0; g < pairs.size(); ++g) {
        const FluidGroup& group = fluid.groups[g];
        bytes[pairs[g].first][groups[pairs[g].second].cluster] +=
            group.bytes * group.path.front().flows;
    }
    return bytes;
}

void ExchangeNetwork::cap_flows(const RatesByCluster& rates) {
    const auto bytes = class_bytes();
    for (std::size_t g = 0; g < pairs.size(); ++g) {
        const std::size_t from = pairs[g].first;
        const std::size_t cluster = groups[pairs[g].second].cluster;
        const auto& rate = rates[from][cluster];
        if (!rate) continue;
        fluid.groups[g].cap_bps = 8.0 * static_cast<double>(rate->value) * fluid.groups[g].bytes /
                                  bytes[from][cluster];
    }
}

EarliestEnd ExchangeNetwork::earliest_end() const {
    std::vector<double> bits(links.size(), 0);
    for (const FluidGroup& group : fluid.groups) {
        for (const FluidUse& use : group.path) bits[use.link] += 8 * group.bytes * use.flows;
    }
    EarliestEnd earliest;
    for (std::size_t l = 0; l < bits.size(); ++l) {
        const double busy_s = bits[l] / fluid.links[l].capacity_bps;
        if (busy_s > earliest.end_s) earliest = {busy_s, l};
    }
    return earliest;
}

Result<RatesByCluster> ExchangeNetwork::rates_for_end(double end_s) const {
    const auto bytes = class_bytes();
    RatesByCluster rates(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
        // no more than the edge, which a sender cannot exceed anyway
        const BitsPerSecond edge = topology->clusters()[groups[i].cluster].host_rate;
        rates[i].resize(bytes[i].size());
        for (std::size_t c = 0; c < bytes[i].size(); ++c) {
            if (!(bytes[i][c] > 0)) continue;
            const double share = std::min(bytes[i][c] / end_s, static_cast<double>(edge.value) / 8);
            // what is a whole number but for the last digits of divisions stays one
            rates[i][c] = BytesPerSecond{static_cast<std::uint64_t>(share * (1 + 1e-12))};
            if (rates[i][c]->value > 0) continue;
            return failure("the shares of some hosts are less than 8bit, the slowest rate there is");
        }
    }
    return rates;
}

std::vector<bool> ExchangeNetwork::contended_links() const {
    std::vector<double> arriving_bps(links.size(), 0);
    std::vector<std::size_t> last_counted(links.size(), groups.size());
    for (std::size_t g = 0; g < pairs.size(); ++g) {  // by sender
        const std::size_t sender = pairs[g].first;
        const BitsPerSecond edge = topology->clusters()[groups[sender].cluster].host_rate;
        for (const FluidUse& use : fluid.groups[g].path) {
            if (std::exchange(last_counted[use.link], sender) == sender) continue;
            arriving_bps[use.link] += groups[sender].hosts * static_cast<double>(edge.value);
        }
    }
    std::vector<bool> contended(links.size());
    for (std::size_t l = 0; l < contended.size(); ++l) {
        contended[l] = arriving_bps[l] > static_cast<double>(topology->rate_of(links[l]).value);
    }
    return contended;
}

std::string ExchangeNetwork::name_of(std::size_t link) const {
    const std::string name = topology->name_of(links[link]);
    if (fills[link].links == 1) return name;
    return fmt::format("fullest of the {} links of the {}", fills[link].links, name);
}

BitsPerSecond ExchangeNetwork::carried_rate(std::size_t link) const {
    return carried_by(topology->rate_of(links[link]), fills[link]);
}

double ExchangeNetwork::latency_s() const {
    double longest_s = 0;
    for (const HostGroup& from : groups) {
        for (const HostGroup& to : groups) {
            if (from.cluster == to.cluster) continue;
            const auto delay = topology->delay(from.cluster, to.cluster);
            longest_s = std::max(longest_s, static_cast<double>(delay.count()) * 1e-9);
        }
    }
    return longest_s;
}

}  // namespace headway

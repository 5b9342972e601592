// SPDX-License-Identifier: Apache-2.0
#include "models/matb.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace headway {
namespace {

using Node = MatbTree::Node;

/// Something of every link: of the one above each node, in both directions.
template <class Value>
struct PerLink {
    std::vector<Value> up;
    std::vector<Value> down;

    PerLink(std::size_t nodes, Value value) : up(nodes, value), down(nodes, value) {}
};

bool counts(const MatbTree& tree, Node node, MatbDirection direction, MatbLinks links) {
    if (node == MatbTree::root) return false;
    if (!tree.is_host(node) || links == MatbLinks::all) return true;
    return links == MatbLinks::trunk_up && direction == MatbDirection::up;
}

/// Calls up(node) for every node whose link the path climbs, and down(node) for
/// those where it descends.
template <class Up, class Down>
void walk(const MatbTree& tree, const MatbPair& pair, Up up, Down down) {
    Node from = pair.source;
    Node to = pair.destination;
    while (from != to) {
        if (tree.depth(from) >= tree.depth(to)) {
            up(from);
            from = tree.parent(from);
        } else {
            down(to);
            to = tree.parent(to);
        }
    }
}

/// Counts each source once on every link that its messages cross.
PerLink<std::uint32_t> count_senders(const MatbTree& tree, std::span<const MatbPair> pairs) {
    std::vector<std::uint32_t> order(pairs.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return pairs[a].source < pairs[b].source;
    });
    constexpr Node no_sender = UINT32_MAX;
    PerLink<Node> last_sender(tree.size(), no_sender);
    PerLink<std::uint32_t> senders(tree.size(), 0);
    for (const std::uint32_t index : order) {
        const MatbPair& pair = pairs[index];
        const auto count = [&](Node& last, std::uint32_t& number) {
            if (last == pair.source) return;
            last = pair.source;
            ++number;
        };
        walk(
            tree, pair, [&](Node node) { count(last_sender.up[node], senders.up[node]); },
            [&](Node node) { count(last_sender.down[node], senders.down[node]); });
    }
    return senders;
}

double share_bps(double capacity_bps, double senders) {
    return senders > 0 ? capacity_bps / senders : matb_no_limit;
}

PerLink<double> link_shares(const MatbTree& tree, const PerLink<std::uint32_t>& senders,
                            MatbLinks links) {
    PerLink<double> shares(tree.size(), matb_no_limit);
    for (Node node = 0; node < tree.size(); ++node) {
        if (counts(tree, node, MatbDirection::up, links)) {
            shares.up[node] = share_bps(tree.up_bps(node), senders.up[node]);
        }
        if (counts(tree, node, MatbDirection::down, links)) {
            shares.down[node] = share_bps(tree.down_bps(node), senders.down[node]);
        }
    }
    return shares;
}

std::vector<MatbShare> crossed_links(const MatbTree& tree, const PerLink<std::uint32_t>& senders,
                                     const PerLink<double>& shares, MatbLinks links) {
    std::vector<MatbShare> list;
    for (Node node = 0; node < tree.size(); ++node) {
        if (senders.up[node] == 0 || !counts(tree, node, MatbDirection::up, links)) continue;
        list.push_back({MatbDirection::up, node, senders.up[node], shares.up[node]});
    }
    for (Node node = 0; node < tree.size(); ++node) {
        if (senders.down[node] == 0 || !counts(tree, node, MatbDirection::down, links)) continue;
        list.push_back({MatbDirection::down, node, senders.down[node], shares.down[node]});
    }
    return list;
}

/// The least value and the second least of the children of a node.
struct TwoLeast {
    double least = matb_no_limit;
    double second = matb_no_limit;

    void add(double value) {
        second = std::min(second, std::max(least, value));
        least = std::min(least, value);
    }
    /// The least of the others.
    [[nodiscard]] double without(double value) const { return value == least ? second : least; }
};

}  // namespace

Result<MatbResult> matb(const MatbTree& tree, std::span<const MatbPair> pairs, MatbLinks links) {
    if (pairs.size() >= UINT32_MAX) return failure("{} pairs are too many", pairs.size());
    for (const MatbPair& pair : pairs) {
        const Node last = std::max(pair.source, pair.destination);
        if (last >= tree.size()) return failure("there is no node {}", last);
    }
    const auto senders = count_senders(tree, pairs);
    const auto shares = link_shares(tree, senders, links);
    MatbResult result;
    result.links = crossed_links(tree, senders, shares, links);
    result.node_bps.assign(tree.size(), matb_no_limit);
    result.pair_bps.reserve(pairs.size());
    for (const MatbPair& pair : pairs) {
        double least = matb_no_limit;
        walk(
            tree, pair, [&](Node node) { least = std::min(least, shares.up[node]); },
            [&](Node node) { least = std::min(least, shares.down[node]); });
        result.pair_bps.push_back(least);
        double& node_bps = result.node_bps[pair.source];
        node_bps = std::min(node_bps, least);
    }
    return result;
}

std::vector<double> matb_alltoall_clusters(std::span<const MatbCluster> clusters) {
    const std::uint64_t all =
        std::accumulate(clusters.begin(), clusters.end(), std::uint64_t{0},
                        [](std::uint64_t sum, const MatbCluster& c) { return sum + c.hosts; });
    const auto crossed = [&](const MatbCluster& c) { return c.hosts != 0 && c.hosts != all; };
    TwoLeast down;
    const auto down_share = [&](const MatbCluster& c) {
        return crossed(c) ? share_bps(c.uplink_bps, static_cast<double>(all - c.hosts)) : matb_no_limit;
    };
    for (const MatbCluster& cluster : clusters) down.add(down_share(cluster));
    std::vector<double> result;
    result.reserve(clusters.size());
    for (const MatbCluster& cluster : clusters) {
        const double up =
            share_bps(cluster.uplink_bps, crossed(cluster) ? static_cast<double>(cluster.hosts) : 0);
        const bool sends = crossed(cluster);
        result.push_back(sends ? std::min(up, down.without(down_share(cluster))) : matb_no_limit);
    }
    return result;
}

}  // namespace headway

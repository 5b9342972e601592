// SPDX-License-Identifier: Apache-2.0
#include "models/network_alltoall.hpp"

#include "plan/hashed_links.hpp"

namespace headway {
namespace {

/// capacity / crossing, compared without rounding.
struct Share {
    std::uint64_t capacity = 0;
    std::uint64_t crossing = 0;  ///< 0: nobody asks for a share

    [[nodiscard]] unsigned __int128 times(std::uint64_t factor) const {
        return static_cast<unsigned __int128>(capacity) * factor;
    }
};

bool is_less(const Share& a, const Share& b) {
    if (a.crossing == 0) return false;
    return b.crossing == 0 || a.times(b.crossing) < b.times(a.crossing);
}

bool is_equal(const Share& a, const Share& b) {
    return a.crossing != 0 && b.crossing != 0 && a.times(b.crossing) == b.times(a.crossing);
}

/// Of every edge, which an all-to-all of all hosts fills.
std::vector<LinkFill> fills_of(const NetworkTree& tree, const std::vector<std::uint64_t>& crossing) {
    std::uint32_t draws = 0;
    for (NetworkTree::Node node = 1; node < tree.size(); ++node) {
        if (tree.edge(node).links.are_hashed() && crossing[node] > 0) draws += 2;
    }
    const auto& top = tree.children(NetworkTree::root);
    const bool is_one_cable = tree.switch_count() == 3 && top.size() == 2 && tree.edge(top[0]).links == tree.edge(top[1]).links;
    if (is_one_cable) draws /= 2;  // both have the same flows
    std::vector<LinkFill> fills(tree.size());
    for (NetworkTree::Node node = 1; node < tree.size(); ++node) {
        const EqualFlows flows{static_cast<double>(crossing[node]), 1};
        fills[node] = fill_of(tree.edge(node).links.count, {&flows, 1}, draws);
    }
    return fills;
}

}  // namespace

AlltoallLimits alltoall_limits(const NetworkTree& tree) {
    AlltoallLimits limits;
    limits.crossing.assign(tree.size(), 0);
    limits.up_limits.assign(tree.size(), false);
    limits.down_limits.assign(tree.size(), false);
    const std::uint64_t hosts = tree.host_count();
    for (NetworkTree::Node node = 1; node < tree.size(); ++node) {
        const std::uint64_t below = tree.hosts_below(node);
        limits.crossing[node] = below * (hosts - below);
    }
    const std::vector<LinkFill> fills = fills_of(tree, limits.crossing);
    const auto share_of = [&](NetworkTree::Node node, BitsPerSecond rate) {
        return Share{carried_by(rate, fills[node]).value, limits.crossing[node]};
    };
    Share least;
    for (NetworkTree::Node node = 1; node < tree.size(); ++node) {
        for (const BitsPerSecond rate : {tree.edge(node).up_rate, tree.edge(node).down_rate}) {
            const Share share = share_of(node, rate);
            if (is_less(share, least)) least = share;
        }
    }
    if (least.crossing == 0) return limits;
    limits.pair_rate_bps =
        static_cast<double>(least.capacity) / static_cast<double>(least.crossing);
    for (NetworkTree::Node node = 1; node < tree.size(); ++node) {
        const NetworkEdge& edge = tree.edge(node);
        limits.up_limits[node] = is_equal(share_of(node, edge.up_rate), least);
        limits.down_limits[node] = is_equal(share_of(node, edge.down_rate), least);
    }
    return limits;
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "models/network_alltoall.hpp"

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

}  // namespace

AlltoallLimits alltoall_limits(const NetworkTree& tree) {
    AlltoallLimits limits;
    limits.crossing.assign(tree.size(), 0);
    limits.up_limits.assign(tree.size(), false);
    limits.down_limits.assign(tree.size(), false);
    const std::uint64_t hosts = tree.host_count();
    Share least;
    for (NetworkTree::Node node = 1; node < tree.size(); ++node) {
        const std::uint64_t below = tree.hosts_below(node);
        limits.crossing[node] = below * (hosts - below);
        for (const BitsPerSecond rate : {tree.edge(node).up_rate, tree.edge(node).down_rate}) {
            const Share share{rate.value, limits.crossing[node]};
            if (is_less(share, least)) least = share;
        }
    }
    if (least.crossing == 0) return limits;
    limits.pair_rate_bps =
        static_cast<double>(least.capacity) / static_cast<double>(least.crossing);
    for (NetworkTree::Node node = 1; node < tree.size(); ++node) {
        const NetworkEdge& edge = tree.edge(node);
        limits.up_limits[node] = is_equal({edge.up_rate.value, limits.crossing[node]}, least);
        limits.down_limits[node] = is_equal({edge.down_rate.value, limits.crossing[node]}, least);
    }
    return limits;
}

}  // namespace headway

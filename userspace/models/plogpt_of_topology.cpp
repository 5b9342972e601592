// SPDX-License-Identifier: Apache-2.0
#include "models/plogpt_of_topology.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "plan/hashed_links.hpp"

namespace headway {
namespace {

struct TreeLink {
    double bytes_per_s = 0;
    double delay_s = 0;

    friend bool operator==(const TreeLink&, const TreeLink&) = default;
};

TreeLink make_link(BitsPerSecond rate, const std::optional<std::uint64_t>& buffer_bytes) {
    return {bytes_per_s(rate), static_cast<double>(buffer_bytes.value_or(0)) / bytes_per_s(rate)};
}

TreeLink slower(const TreeLink& a, const TreeLink& b) { return b.bytes_per_s < a.bytes_per_s ? b : a; }

/// The tree below a switch: its heights, the slowest of the single trunks since the last of them,
/// and at which leaf the hosts of each cluster begin.
struct Below {
    std::vector<TreeLink> heights;
    std::optional<TreeLink> narrow;
    std::map<std::size_t, std::uint32_t> first_leaf;
    TreeLink edge;  ///< of a host

    /// As high, with nobody in the rest.
    void grow_to(std::size_t height) {
        if (heights.empty() && height > 0) heights.push_back(edge);
        while (heights.size() < height)
            heights.push_back({2 * heights.back().bytes_per_s, heights.back().delay_s});
    }
};

class TreeBuilder {
public:
    TreeBuilder(const Topology& topology, const HostCounts& hosts)
        : topology_(topology), hosts_(hosts), below_(topology.hosts_below(hosts)) {}

    Result<Below> build() { return switch_of(""); }

private:
    /// The trunks that lead to it and have hosts below.
    [[nodiscard]] std::vector<std::size_t> trunks_of(std::string_view name) const {
        std::vector<std::size_t> trunks;
        for (std::size_t t = 0; t < topology_.trunk_count(); ++t) {
            if (below_[t] > 0 && topology_.trunk(t).parent == name) trunks.push_back(t);
        }
        return trunks;
    }

    /// By an all-to-all.
    [[nodiscard]] LinkFill fill_of_trunk(std::size_t t) const {
        std::uint32_t hashed = 0;
        for (std::size_t other = 0; other < topology_.trunk_count(); ++other) {
            if (below_[other] > 0 && topology_.trunk(other).trunk_links.are_hashed()) ++hashed;
        }
        const EqualFlows flows{1.0 * below_[t] * (hosts_.total() - below_[t]), 1};
        return fill_of(topology_.trunk(t).trunk_links.count, {&flows, 1}, draws_of(topology_, 2 * hashed));
    }

    Result<Below> trunk_and_below(std::size_t t) {
        const TrunkSwitch& trunk = topology_.trunk(t);
        const std::uint32_t own =
            t < topology_.clusters().size() ? hosts_.per_cluster[t] : 0;
        if (own > 0 && own != below_[t]) {
            return failure("\"{}\" has hosts and clusters below it", trunk.name);
        }
        auto below = own > 0 ? cluster_of(t, own) : switch_of(trunk.name);
        if (!below) return below;
        TreeLink link = make_link(std::min(trunk.trunk_up_rate, trunk.trunk_down_rate),
                                  trunk.trunk_buffer_bytes);
        link.bytes_per_s *= fill_of_trunk(t).effective_links();
        below->narrow = below->narrow ? slower(*below->narrow, link) : link;
        return below;
    }

    [[nodiscard]] Result<Below> cluster_of(std::size_t number, std::uint32_t hosts) const {
        Below below;
        below.first_leaf[number] = 0;
        const Cluster& cluster = topology_.clusters()[number];
        below.edge = make_link(cluster.host_rate, cluster.host_buffer_bytes);
        below.grow_to(static_cast<std::size_t>(std::bit_width(hosts - 1)));
        return below;
    }

    Result<Below> switch_of(std::string_view name) {
        std::vector<Below> children;
        std::size_t height = 0;
        for (const std::size_t t : trunks_of(name)) {
            auto child = trunk_and_below(t);
            if (!child) return child;
            height = std::max(height, child->heights.size());
            children.push_back(std::move(*child));
        }
        if (children.size() == 1) return std::move(children.front());
        if (height >= PlogptTree::height_max) return failure("it is higher than {}", PlogptTree::height_max);
        for (Below& child : children) child.grow_to(height);
        return joined(children);
    }

    /// Two trunks are one path, on which the slower counts; more have to be equal.
    static Result<Below> joined(std::vector<Below>& children) {
        Below all = std::move(children.front());
        TreeLink trunk = *all.narrow;
        const auto leaves = std::uint32_t{1} << all.heights.size();
        for (std::size_t i = 1; i < children.size(); ++i) {
            for (const auto& [cluster, leaf] : children[i].first_leaf)
                all.first_leaf[cluster] = leaf + static_cast<std::uint32_t>(i) * leaves;
            if (children[i].heights != all.heights) return failure("the clusters differ inside");
            if (children.size() > 2 && *children[i].narrow != trunk) {
                return failure("the clusters' trunks differ");
            }
            trunk = slower(trunk, *children[i].narrow);
        }
        for (std::size_t below = 1; below < children.size(); below *= 2) {
            all.heights.push_back({static_cast<double>(below) * trunk.bytes_per_s, trunk.delay_s});
        }
        all.narrow.reset();
        return all;
    }

    const Topology& topology_;
    const HostCounts& hosts_;
    std::vector<std::uint32_t> below_;
};

Result<BitsPerSecond> common_edge(const Topology& topology, const HostCounts& hosts) {
    std::optional<BitsPerSecond> rate;
    for (std::size_t c = 0; c < topology.clusters().size(); ++c) {
        if (hosts.per_cluster[c] == 0) continue;
        const BitsPerSecond other = topology.clusters()[c].host_rate;
        if (rate.value_or(other) != other) return failure("the clusters' hosts differ in rate");
        rate = other;
    }
    if (!rate || hosts.total() < 2) return failure("it takes two hosts");
    return *rate;
}

double longest_delay_s(const Topology& topology, const HostCounts& hosts) {
    std::chrono::nanoseconds longest{};
    for (std::size_t a = 0; a < hosts.per_cluster.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
            if (hosts.per_cluster[a] == 0 || hosts.per_cluster[b] == 0) continue;
            longest = std::max(longest, topology.delay(a, b));
        }
    }
    return static_cast<double>(longest.count()) * 1e-9;
}

}  // namespace

Result<PlogptTopology> plogpt_of_topology(const Topology& topology, const HostCounts& hosts) {
    const auto edge = common_edge(topology, hosts);
    if (!edge) return tl::unexpected(edge.error());
    const auto whole = TreeBuilder(topology, hosts).build();
    if (!whole) return tl::unexpected(whole.error());
    PlogptLinks links;
    for (const TreeLink& link : whole->heights) {
        links.bandwidth_bytes_per_s.push_back(link.bytes_per_s);
        links.buffer_delay_s.push_back(link.delay_s);
    }
    auto tree = PlogptTree::make(std::move(links), plogpt_default_eps_s, PlogptTree::Clamp::yes);
    if (!tree) return tl::unexpected(tree.error());
    PlogptTopology made{std::move(*tree), *edge, longest_delay_s(topology, hosts), {}};
    for (std::size_t c = 0; c < hosts.per_cluster.size(); ++c) {
        for (std::uint32_t i = 0; i < hosts.per_cluster[c]; ++i)
            made.leaf_of_host.push_back(whole->first_leaf.at(c) + i);
    }
    return made;
}

}  // namespace headway

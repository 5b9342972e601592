// SPDX-License-Identifier: Apache-2.0
#include "network/network_items.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/host_name.hpp"

namespace headway {
namespace {

using NodeKind = NetworkNodeKind;
using Indices = std::unordered_map<std::string_view, std::size_t>;

constexpr std::size_t nobody = NetworkMistake::whole_network;

bool is_host(const NetworkItem& item) { return item.kind == NodeKind::host; }

std::string called(const NetworkItem& item) {
    const char* kind = is_host(item) ? "host" : item.is_cluster ? "cluster" : "switch";
    return fmt::format("{} \"{}\"", kind, item.name);
}

class MistakeSearch {
public:
    explicit MistakeSearch(std::span<const NetworkItem> items)
        : items_(items), parents_(items.size(), nobody) {}

    std::vector<NetworkMistake> run() {
        if (items_.size() > network_nodes_max) {
            tell(nobody, "{} switches and hosts are too many: at most {} can be described",
                 items_.size(), network_nodes_max);
            return std::move(found_);
        }
        find_names();
        find_parents();
        find_loops();
        find_bad_edges();
        find_empty_clusters();
        find_overlaps();
        return std::move(found_);
    }

private:
    template <class... Args>
    void tell(std::size_t item, fmt::format_string<Args...> format, Args&&... args) {
        found_.push_back({item, {}, fmt::format(format, std::forward<Args>(args)...)});
    }

    void find_names() {
        HostNames hosts;
        for (std::size_t i = 0; i < items_.size(); ++i) {
            const NetworkItem& item = items_[i];
            if (item.name.empty()) tell(i, "a node has no name");
            else if (!(is_host(item) ? hosts.add(item.name, i) : switches_.emplace(item.name, i).second))
                tell(i, "{} is described twice", called(item));
        }
        if (std::ranges::none_of(items_, is_host)) tell(nobody, "there is no host");
    }

    void find_parents() {
        std::size_t root = nobody;
        for (std::size_t i = 0; i < items_.size(); ++i) {
            const NetworkItem& item = items_[i];
            const auto parent = switches_.find(item.parent);
            if (!item.parent.empty() && parent != switches_.end()) {
                parents_[i] = parent->second;
            } else if (!item.parent.empty()) {
                tell(i, "{} has the parent \"{}\", but there is no such switch", called(item),
                     item.parent);
            } else if (is_host(item)) {
                tell(i, "{} has no parent", called(item));
            } else if (root != nobody) {
                tell(i, "{} has no parent, as \"{}\" has none: a tree has one root", called(item),
                     items_[root].name);
            } else {
                root = i;
            }
        }
        if (root == nobody && !items_.empty())
            tell(nobody, "no switch is the root: every one has a parent");
    }

    /// Steps from every item to its root, each item looked at once.
    void find_loops() {
        constexpr std::uint32_t unknown = 0;
        constexpr std::uint32_t under_way = network_depth_max + 2;
        constexpr std::uint32_t too_deep = under_way + 1;  // or in a loop: both told once
        std::vector<std::uint32_t> level(items_.size(), unknown);  // depth + 1
        std::vector<std::size_t> path;
        for (std::size_t i = 0; i < items_.size(); ++i) {
            path.clear();
            std::size_t at = i;
            for (; at != nobody && level[at] == unknown; at = parents_[at]) {
                level[at] = under_way;
                path.push_back(at);
            }
            std::uint32_t above = at == nobody ? 0 : level[at];
            if (above == under_way) {
                tell(at, "{} is below itself", called(items_[at]));
                above = too_deep;
            }
            for (auto step = path.rbegin(); step != path.rend(); ++step) {
                if (above == network_depth_max + 1) {
                    tell(*step, "{} is more than {} edges from the root", called(items_[*step]),
                         network_depth_max);
                    above = too_deep;
                } else if (above != too_deep) {
                    ++above;
                }
                level[*step] = above;
            }
        }
    }

    void find_bad_edges() {
        for (std::size_t i = 0; i < items_.size(); ++i) {
            const NetworkEdge& edge = items_[i].edge;
            if (items_[i].parent.empty()) continue;
            if (edge.up_rate.value == 0 || edge.down_rate.value == 0) {
                tell(i, "the link of {} has no rate {}", called(items_[i]),
                     edge.up_rate.value == 0 ? "up" : "down");
            }
            if (edge.delay.count() < 0)
                tell(i, "the link of {} has a negative delay", called(items_[i]));
            if (edge.links.count == 0 || edge.links.count > ParallelLinks::count_max)
                tell(i, "{} has {} links, not 1 to {}", called(items_[i]), edge.links.count, ParallelLinks::count_max);
            if (is_host(items_[i]) && edge.links.are_hashed())
                tell(i, "{} has {} links: only a switch may have several", called(items_[i]), edge.links.count);
        }
    }

    void find_empty_clusters() {
        std::unordered_set<std::string_view> with_hosts;
        for (const NetworkItem& item : items_) {
            if (is_host(item)) with_hosts.insert(item.parent);
        }
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (items_[i].is_cluster && !with_hosts.contains(items_[i].name))
                tell(i, "cluster \"{}\" has no host of its own", items_[i].name);
        }
    }

    /// Each prefix is told of with the first that it overlaps.
    void find_overlaps() {
        std::vector<std::pair<const IpPrefix*, const NetworkItem*>> seen;
        for (std::size_t i = 0; i < items_.size(); ++i) {
            for (const IpPrefix& prefix : items_[i].prefixes) {
                const auto clash = std::ranges::find_if(
                    seen, [&](const auto& earlier) { return overlap(*earlier.first, prefix); });
                if (clash != seen.end()) {
                    tell(i, "{} of {} overlaps {} of {}", prefix.to_string(), called(items_[i]),
                         clash->first->to_string(), called(*clash->second));
                    found_.back().prefix = &prefix - items_[i].prefixes.data();
                }
                seen.emplace_back(&prefix, &items_[i]);
            }
        }
    }

    std::span<const NetworkItem> items_;
    Indices switches_;
    std::vector<std::size_t> parents_;  ///< `nobody` for roots and where there is none
    std::vector<NetworkMistake> found_;
};

/// The smaller of both; none if one of them is not known.
std::optional<std::uint64_t> least_buffer(const NetworkEdge& edge) {
    if (!edge.up_buffer_bytes || !edge.down_buffer_bytes) return std::nullopt;
    return std::min(*edge.up_buffer_bytes, *edge.down_buffer_bytes);
}

/// The trunk of a switch; of the root, which has none, one that limits nothing.
TrunkSwitch trunk_of(const NetworkItem& item, bool leads_to_centre) {
    if (item.parent.empty()) return {item.name, "", rate_max, rate_max, {}, {}, {}};
    return {item.name, leads_to_centre ? "" : item.parent, item.edge.up_rate, item.edge.down_rate,
            item.edge.delay, least_buffer(item.edge), item.edge.links};
}

/// Makes a cluster of a switch and its hosts.
Result<Cluster> cluster_of(const NetworkItem& item, TrunkSwitch trunk,
                           std::span<const NetworkItem> hosts) {
    const NetworkEdge& first = hosts.front().edge;
    Cluster cluster{std::move(trunk), {}, item.prefixes, first.up_rate, first.down_buffer_bytes};
    for (const NetworkItem& host : hosts) {
        if (host.edge.up_rate != host.edge.down_rate) {
            return failure("the link of {} differs by direction, {} upwards and {} downwards", called(host),
                           rate_to_text(host.edge.up_rate), rate_to_text(host.edge.down_rate));
        }
        if (host.edge != first) {
            return failure("the link of {} differs from that of \"{}\"", called(host), hosts.front().name);
        }
        cluster.hosts.push_back(host.name);
    }
    return cluster;
}

}  // namespace

std::vector<NetworkMistake> find_mistakes(std::span<const NetworkItem> items) {
    return MistakeSearch(items).run();
}

std::vector<NetworkItem> in_tree_order(std::span<const NetworkItem> items) {
    std::unordered_map<std::string_view, std::vector<const NetworkItem*>> below;
    for (const NetworkItem& item : items) below[item.parent].push_back(&item);
    for (auto& [name, under] : below) {
        std::stable_partition(under.begin(), under.end(),
                              [](const NetworkItem* item) { return is_host(*item); });
    }
    std::vector<NetworkItem> ordered;
    std::vector<const NetworkItem*> stack = below[""];  // the root
    while (!stack.empty()) {
        const NetworkItem& item = *stack.back();
        stack.pop_back();
        ordered.push_back(item);
        const auto under = below.find(item.name);
        if (is_host(item) || under == below.end()) continue;
        stack.insert(stack.end(), under->second.rbegin(), under->second.rend());
    }
    ordered.front().edge = {};
    return ordered;
}

// ------------------------------------------------------- as the planner knows it

Result<Topology> topology_of(std::span<const NetworkItem> items, bool is_cable) {
    const std::vector<NetworkItem> nodes = in_tree_order(items);
    const bool root_is_cluster = nodes.size() > 1 && is_host(nodes[1]);
    std::unordered_set<std::string_view> above_hosts;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
        if (is_host(*node) || above_hosts.contains(node->name)) above_hosts.insert(node->parent);
    }
    std::vector<Cluster> clusters;
    std::vector<TrunkSwitch> switches;
    for (auto node = nodes.begin(); node != nodes.end(); ++node) {
        if (is_host(*node) || !above_hosts.contains(node->name)) continue;
        const bool leads_to_centre = node->parent == nodes.front().name && !root_is_cluster;
        const std::span hosts(node + 1, std::find_if_not(node + 1, nodes.end(), is_host));
        if (!hosts.empty()) {
            auto cluster = cluster_of(*node, trunk_of(*node, leads_to_centre), hosts);
            if (!cluster) return tl::unexpected(cluster.error());
            clusters.push_back(std::move(*cluster));
        } else if (node != nodes.begin()) {
            switches.push_back(trunk_of(*node, leads_to_centre));
        }
    }
    // Two trunks are one cable to Topology, and its delay the longer of both.
    if (!is_cable && clusters.size() == 2 && switches.empty() && clusters[0].parent.empty() &&
        clusters[1].parent.empty()) {
        const auto delay = clusters[0].trunk_delay + clusters[1].trunk_delay;
        clusters[0].trunk_delay = clusters[1].trunk_delay = delay;
    }
    return Topology::make(std::move(clusters), std::move(switches));
}

}  // namespace headway

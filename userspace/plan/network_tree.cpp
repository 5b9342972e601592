// SPDX-License-Identifier: Apache-2.0
#include "plan/network_tree.hpp"

#include <algorithm>

namespace headway {
namespace {

using NodeKind = NetworkNodeKind;
using Mistakes = std::vector<NetworkMistake>;
using Indices = std::unordered_map<std::string_view, std::size_t>;

constexpr std::size_t nobody = NetworkMistake::whole_network;

std::string called(const NetworkItem& item) {
    return fmt::format("{} \"{}\"", item.kind == NodeKind::host ? "host" : "switch", item.name);
}

/// Switches by name; tells of names that are missing or used twice.
Indices find_names(std::span<const NetworkItem> items, Mistakes& found) {
    Indices switches;
    Indices hosts;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].name.empty()) {
            found.push_back({i, "a node has no name"});
            continue;
        }
        Indices& names = items[i].kind == NodeKind::host ? hosts : switches;
        if (!names.emplace(items[i].name, i).second) {
            found.push_back({i, called(items[i]) + " is described twice"});
        }
    }
    if (hosts.empty()) found.push_back({nobody, "there is no host"});
    return switches;
}

/// Index of every item's parent; `nobody` for roots and where there is none.
std::vector<std::size_t> find_parents(std::span<const NetworkItem> items, const Indices& switches,
                                      Mistakes& found) {
    std::vector<std::size_t> parents(items.size(), nobody);
    std::size_t root = nobody;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const NetworkItem& item = items[i];
        if (item.parent.empty()) {
            if (item.kind == NodeKind::host) {
                found.push_back({i, called(item) + " has no parent"});
            } else if (root != nobody) {
                found.push_back({i, fmt::format("{} has no parent, as \"{}\" has none: a tree has "
                                                "one root",
                                                called(item), items[root].name)});
            } else {
                root = i;
            }
            continue;
        }
        const auto parent = switches.find(item.parent);
        if (parent == switches.end()) {
            found.push_back({i, fmt::format("{} has the parent \"{}\", but there is no such switch",
                                            called(item), item.parent)});
        } else {
            parents[i] = parent->second;
        }
    }
    if (root == nobody && !items.empty()) {
        found.push_back({nobody, "no switch is the root: every one has a parent"});
    }
    return parents;
}

/// Steps from every item to its root, each item looked at once.
void find_loops(std::span<const NetworkItem> items, const std::vector<std::size_t>& parents,
                Mistakes& found) {
    constexpr std::uint32_t unknown = 0;
    constexpr std::uint32_t under_way = network_depth_max + 2;
    constexpr std::uint32_t too_deep = under_way + 1;  // or in a loop: both told once
    std::vector<std::uint32_t> level(items.size(), unknown);  // depth + 1
    std::vector<std::size_t> path;
    for (std::size_t i = 0; i < items.size(); ++i) {
        path.clear();
        std::size_t at = i;
        while (at != nobody && level[at] == unknown) {
            level[at] = under_way;
            path.push_back(at);
            at = parents[at];
        }
        std::uint32_t above = at == nobody ? 0 : level[at];
        if (above == under_way) {
            found.push_back({at, called(items[at]) + " is below itself"});
            above = too_deep;
        }
        for (auto step = path.rbegin(); step != path.rend(); ++step) {
            if (above == network_depth_max + 1) {
                found.push_back({*step, fmt::format("{} is more than {} edges from the root",
                                                    called(items[*step]), network_depth_max)});
                above = too_deep;
            } else if (above != too_deep) {
                ++above;
            }
            level[*step] = above;
        }
    }
}

void find_bad_edges(std::span<const NetworkItem> items, Mistakes& found) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        const NetworkEdge& edge = items[i].edge;
        if (items[i].parent.empty()) continue;
        if (edge.up_rate.value == 0 || edge.down_rate.value == 0) {
            found.push_back({i, fmt::format("the link of {} has no rate {}", called(items[i]),
                                            edge.up_rate.value == 0 ? "up" : "down")});
        }
        if (edge.delay.count() < 0) {
            found.push_back({i, fmt::format("the link of {} has a negative delay",
                                            called(items[i]))});
        }
    }
}

void find_empty_clusters(std::span<const NetworkItem> items, Mistakes& found) {
    std::unordered_map<std::string_view, std::size_t> hosts;
    for (const NetworkItem& item : items) {
        if (item.kind == NodeKind::host) ++hosts[item.parent];
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!items[i].is_cluster || hosts.contains(items[i].name)) continue;
        found.push_back({i, fmt::format("cluster \"{}\" has no host of its own", items[i].name)});
    }
}

void find_overlaps(std::span<const NetworkItem> items, Mistakes& found) {
    struct Seen {
        const IpPrefix* prefix;
        std::size_t item;
    };
    std::vector<Seen> seen;
    for (std::size_t i = 0; i < items.size(); ++i) {
        for (const IpPrefix& prefix : items[i].prefixes) {
            for (const Seen& other : seen) {
                if (!overlap(*other.prefix, prefix)) continue;
                found.push_back({i, fmt::format("{} of {} overlaps {} of {}", prefix.to_string(),
                                                called(items[i]), other.prefix->to_string(),
                                                called(items[other.item]))});
                break;
            }
            seen.push_back({&prefix, i});
        }
    }
}

std::string unused_name(const Topology& topology, std::string wanted) {
    const auto is_used = [&](const std::string& name) {
        return std::any_of(topology.clusters().begin(), topology.clusters().end(),
                           [&](const Cluster& cluster) { return cluster.name == name; });
    };
    const std::string base = wanted;
    for (int i = 2; is_used(wanted); ++i) wanted = fmt::format("{}-{}", base, i);
    return wanted;
}

}  // namespace

std::vector<NetworkMistake> find_mistakes(std::span<const NetworkItem> items) {
    Mistakes found;
    if (items.size() > network_nodes_max) {
        found.push_back({nobody, fmt::format("{} switches and hosts are too many: at most {} can "
                                             "be described",
                                             items.size(), network_nodes_max)});
        return found;
    }
    const Indices switches = find_names(items, found);
    const auto parents = find_parents(items, switches, found);
    find_loops(items, parents, found);
    find_bad_edges(items, found);
    find_empty_clusters(items, found);
    find_overlaps(items, found);
    return found;
}

Result<NetworkTree> NetworkTree::make(std::vector<NetworkItem> items) {
    const Mistakes mistakes = find_mistakes(items);
    if (!mistakes.empty()) return failure("{}", mistakes.front().message);

    std::unordered_map<std::string_view, std::vector<std::size_t>> below;
    std::size_t top = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].parent.empty()) top = i;
        else below[items[i].parent].push_back(i);
    }
    for (auto& [name, under] : below) {
        std::stable_partition(under.begin(), under.end(),
                              [&](std::size_t i) { return items[i].kind == NodeKind::host; });
    }
    // Depth first, so that what belongs together stands together.
    std::vector<std::size_t> order;
    std::vector<std::size_t> stack{top};
    while (!stack.empty()) {
        const std::size_t at = stack.back();
        stack.pop_back();
        order.push_back(at);
        if (items[at].kind == NodeKind::host) continue;
        const auto under = below.find(items[at].name);
        if (under == below.end()) continue;
        stack.insert(stack.end(), under->second.rbegin(), under->second.rend());
    }
    NetworkTree tree;
    tree.items_.reserve(items.size());
    for (const std::size_t index : order) tree.items_.push_back(items[index]);
    tree.items_.front().edge = {};
    tree.number();
    return tree;
}

void NetworkTree::number() {
    parent_.assign(size(), root);
    depth_.assign(size(), 0);
    children_.assign(size(), {});
    hosts_below_.assign(size(), 0);
    for (Node node = 0; node < size(); ++node) {
        (is_host(node) ? hosts_ : switches_).emplace(name(node), node);
        if (node == root) continue;
        parent_[node] = switches_.find(items_[node].parent)->second;
        depth_[node] = depth_[parent_[node]] + 1;
        children_[parent_[node]].push_back(node);
    }
    for (Node node = static_cast<Node>(size()); node-- > 0;) {
        if (is_host(node)) hosts_below_[node] = 1;
        if (node != root) hosts_below_[parent_[node]] += hosts_below_[node];
    }
}

std::optional<NetworkTree::Node> NetworkTree::find_host(std::string_view name) const {
    const auto found = hosts_.find(name);
    return found == hosts_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<NetworkTree::Node> NetworkTree::find_switch(std::string_view name) const {
    const auto found = switches_.find(name);
    return found == switches_.end() ? std::nullopt : std::optional(found->second);
}

// ------------------------------------------------------- as the planner knows it

std::optional<std::uint64_t> least_buffer(const NetworkEdge& edge) {
    if (!edge.up_buffer_bytes || !edge.down_buffer_bytes) return std::nullopt;
    return std::min(*edge.up_buffer_bytes, *edge.down_buffer_bytes);
}

std::vector<NetworkItem> network_items(const Topology& topology) {
    const std::string centre = unused_name(topology, "centre");
    std::vector<NetworkItem> items{{NodeKind::switch_node, centre, "", {}, false, {}}};
    const auto& clusters = topology.clusters();
    for (std::size_t c = 0; c < clusters.size(); ++c) {
        const Cluster& cluster = clusters[c];
        auto delay = cluster.trunk_delay;
        if (clusters.size() == 2) {
            delay = c == 0 ? topology.delay(0, 1) : std::chrono::nanoseconds::zero();
        }
        items.push_back({NodeKind::switch_node, cluster.name, centre,
                         {cluster.trunk_up_rate, cluster.trunk_down_rate, delay,
                          cluster.trunk_buffer_bytes, cluster.trunk_buffer_bytes},
                         true, cluster.prefixes});
        for (const std::string& host : cluster.hosts) {
            items.push_back({NodeKind::host, host, cluster.name,
                             {cluster.host_rate, cluster.host_rate, {}, {},
                              cluster.host_buffer_bytes},
                             false, {}});
        }
    }
    return items;
}

namespace {

/// Its trunk; of the root, which has none, one that limits nothing.
TrunkSwitch trunk_of(const NetworkTree& tree, NetworkTree::Node node) {
    TrunkSwitch trunk;
    trunk.name = tree.name(node);
    trunk.trunk_up_rate = trunk.trunk_down_rate = rate_max;
    if (node == NetworkTree::root) return trunk;
    const NetworkTree::Node parent = tree.parent(node);
    const bool root_is_cluster =
        !tree.children(NetworkTree::root).empty() &&
        tree.is_host(tree.children(NetworkTree::root).front());
    if (parent != NetworkTree::root || root_is_cluster) trunk.parent = tree.name(parent);
    const NetworkEdge& edge = tree.edge(node);
    trunk.trunk_up_rate = edge.up_rate;
    trunk.trunk_down_rate = edge.down_rate;
    trunk.trunk_delay = edge.delay;
    trunk.trunk_buffer_bytes = least_buffer(edge);
    return trunk;
}

/// Of a switch with hosts, which come before switches.
Result<Cluster> cluster_of(const NetworkTree& tree, NetworkTree::Node node) {
    const auto& children = tree.children(node);
    const NetworkEdge& first = tree.edge(children.front());
    Cluster cluster;
    static_cast<TrunkSwitch&>(cluster) = trunk_of(tree, node);
    cluster.prefixes = tree.item(node).prefixes;
    cluster.host_rate = first.up_rate;
    cluster.host_buffer_bytes = first.down_buffer_bytes;
    for (const NetworkTree::Node host : children) {
        if (!tree.is_host(host)) break;
        const NetworkEdge& edge = tree.edge(host);
        if (edge != first || edge.up_rate != edge.down_rate) {
            return failure("the link of {} differs from that of \"{}\" or by direction",
                           called(tree.item(host)), tree.name(children.front()));
        }
        cluster.hosts.push_back(tree.name(host));
    }
    return cluster;
}

}  // namespace

Result<Topology> topology_of(const NetworkTree& tree) {
    std::vector<Cluster> clusters;
    std::vector<TrunkSwitch> switches;
    for (NetworkTree::Node node = 0; node < tree.size(); ++node) {
        if (tree.is_host(node) || tree.hosts_below(node) == 0) continue;
        if (tree.is_host(tree.children(node).front())) {
            auto cluster = cluster_of(tree, node);
            if (!cluster) return tl::unexpected(cluster.error());
            clusters.push_back(std::move(*cluster));
        } else if (node != NetworkTree::root) {
            switches.push_back(trunk_of(tree, node));
        }
    }
    // Two trunks are one cable to Topology, and its delay the longer of both.
    if (clusters.size() == 2 && switches.empty() && clusters[0].parent.empty() &&
        clusters[1].parent.empty()) {
        const auto delay = clusters[0].trunk_delay + clusters[1].trunk_delay;
        clusters[0].trunk_delay = clusters[1].trunk_delay = delay;
    }
    return Topology::make(std::move(clusters), std::move(switches));
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// A network as a tree of switches with hosts at its ends, as files of several
// formats describe it.
//
// Vocabulary
//   node      a switch or a host; the root is a switch
//   edge      the cable of a node to its parent, with its rate in each
//             direction: up, from the node, and down, to it
//   delay     of the edge, one way, the same up and down
//   buffer    bytes that wait for a direction of an edge at most: up at the
//             node, down at its parent.  None: not known
//   cluster   a switch of which is known, by address prefixes, which packets go
//             to the hosts directly below it
//
// Switches and hosts have names of their own: a switch may be called as a host.
//
// Limits: one path between two hosts.  A network with several needs the bundle
// of parallel cables described as one edge of their common rate.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/ip_prefix.hpp"
#include "base/rate.hpp"
#include "plan/topology.hpp"

namespace headway {

struct NetworkEdge {
    BitsPerSecond up_rate;
    BitsPerSecond down_rate;
    std::chrono::nanoseconds delay{};
    std::optional<std::uint64_t> up_buffer_bytes;
    std::optional<std::uint64_t> down_buffer_bytes;

    friend bool operator==(const NetworkEdge&, const NetworkEdge&) = default;
};

enum class NetworkNodeKind : std::uint8_t { switch_node, host };

/// A node as files tell of it: its parent by name.
struct NetworkItem {
    NetworkNodeKind kind = NetworkNodeKind::switch_node;
    std::string name;
    std::string parent;              ///< a switch; empty: the root
    NetworkEdge edge;                ///< not of the root
    bool is_cluster = false;         ///< of a switch
    std::vector<IpPrefix> prefixes;  ///< of a cluster; empty: not known

    friend bool operator==(const NetworkItem&, const NetworkItem&) = default;
};

/// Something wrong with one item, or with the whole (item == whole_network).
struct NetworkMistake {
    static constexpr std::size_t whole_network = static_cast<std::size_t>(-1);
    std::size_t item = whole_network;
    std::string message;  ///< names the node
};

inline constexpr std::size_t network_nodes_max = 131072;
inline constexpr std::uint32_t network_depth_max = 64;

/// Names that are missing or used twice, parents that do not exist, several
/// roots or none, loops, edges without rate, prefixes that overlap, clusters or
/// networks without hosts.
[[nodiscard]] std::vector<NetworkMistake> find_mistakes(std::span<const NetworkItem> items);

/// A value.
class NetworkTree {
public:
    using Node = std::uint32_t;
    static constexpr Node root = 0;

    /// Fails with the first of find_mistakes().
    [[nodiscard]] static Result<NetworkTree> make(std::vector<NetworkItem> items);

    /// A parent comes before its children; of these first the hosts, then the
    /// switches, each in the order of the items.
    [[nodiscard]] std::size_t size() const { return items_.size(); }
    [[nodiscard]] const std::string& name(Node node) const { return items_[node].name; }
    [[nodiscard]] bool is_host(Node node) const {
        return items_[node].kind == NetworkNodeKind::host;
    }
    [[nodiscard]] const NetworkItem& item(Node node) const { return items_[node]; }
    [[nodiscard]] Node parent(Node node) const { return parent_[node]; }  ///< of the root: itself
    [[nodiscard]] std::uint32_t depth(Node node) const { return depth_[node]; }
    [[nodiscard]] const NetworkEdge& edge(Node node) const { return items_[node].edge; }
    [[nodiscard]] const std::vector<Node>& children(Node node) const { return children_[node]; }

    [[nodiscard]] std::size_t host_count() const { return hosts_below(root); }
    [[nodiscard]] std::size_t switch_count() const { return size() - host_count(); }
    [[nodiscard]] std::size_t hosts_below(Node node) const { return hosts_below_[node]; }
    [[nodiscard]] std::optional<Node> find_host(std::string_view name) const;
    [[nodiscard]] std::optional<Node> find_switch(std::string_view name) const;

    friend bool operator==(const NetworkTree& a, const NetworkTree& b) {
        return a.items_ == b.items_;
    }

private:
    struct NameHash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    using Names = std::unordered_map<std::string, Node, NameHash, std::equal_to<>>;

    NetworkTree() = default;
    void number();

    std::vector<NetworkItem> items_;
    std::vector<Node> parent_;
    std::vector<std::uint32_t> depth_;
    std::vector<std::vector<Node>> children_;
    std::vector<std::uint32_t> hosts_below_;
    Names hosts_;
    Names switches_;
};

/// The smaller of both; none if one of them is not known.
[[nodiscard]] std::optional<std::uint64_t> least_buffer(const NetworkEdge& edge);

/// The star of a topology: a centre, below it a switch for each cluster.  Two
/// trunks are one cable there, so that the first gets the delay of it.
[[nodiscard]] std::vector<NetworkItem> network_items(const Topology& topology);

/// The network as the planner knows it: the hosts of every switch are a cluster,
/// if the file does not call it one a cluster without prefixes.  Fails, naming
/// the node, for hosts of one switch that differ, or whose link differs by
/// direction.
[[nodiscard]] Result<Topology> topology_of(const NetworkTree& tree);

}  // namespace headway

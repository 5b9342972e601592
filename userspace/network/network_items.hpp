// SPDX-License-Identifier: Apache-2.0
// A network as a tree of switches with hosts at its ends, node by node, as files of
// several formats describe it.
//
// Vocabulary
//   node      a switch or a host; the root is a switch
//   edge      the cable of a node to its parent, with its rate in each
//             direction: up, from the node, and down, to it
//   delay     of the edge, one way, the same up and down
//   buffer    bytes that wait for a direction of an edge at most: up at the
//             node, down at its parent.  None: not known
//   links     of which an edge of a switch consists, chosen by a hash; its rates and buffers
//             are those of one of them
//   cluster   a switch of which is known, by address prefixes, which packets go
//             to the hosts directly below it
//
// Switches and hosts have names of their own: a switch may be called as a host.
//
// Limits: one path of switches between two hosts.  Spines of which each leaf has the same
// links are one switch to which each leaf has an edge of several links.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ip_prefix.hpp"
#include "base/units.hpp"
#include "network/topology.hpp"

namespace headway {

struct NetworkEdge {
    BitsPerSecond up_rate;
    BitsPerSecond down_rate;
    std::chrono::nanoseconds delay{};
    std::optional<std::uint64_t> up_buffer_bytes;
    std::optional<std::uint64_t> down_buffer_bytes;
    ParallelLinks links{};

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
    std::optional<std::size_t> prefix;  ///< of the item, if that is what is wrong
    std::string message;  ///< names the node
};

inline constexpr std::size_t network_nodes_max = 131072;
inline constexpr std::uint32_t network_depth_max = 64;

/// Names that are missing or used twice, parents that do not exist, several
/// roots or none, loops, edges without rate, prefixes that overlap, clusters or
/// networks without hosts.
[[nodiscard]] std::vector<NetworkMistake> find_mistakes(std::span<const NetworkItem> items);

/// Orders items without mistakes: a parent comes before its children; of these first the hosts,
/// then the switches with all that is below them, each in the order of the items.  The root has no
/// edge.
[[nodiscard]] std::vector<NetworkItem> in_tree_order(std::span<const NetworkItem> items);

/// A network without mistakes as the planner knows it: the hosts of every switch are a cluster,
/// if the file does not call it one a cluster without prefixes.  Fails, naming
/// the node, for hosts of one switch that differ, or whose link differs by
/// direction.  `is_cable`: its two trunks have the delay of one cable each, not a part of it.
[[nodiscard]] Result<Topology> topology_of(std::span<const NetworkItem> items,
                                           bool is_cable = false);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// MATB, the maximum allowable transmission bandwidth of a node: how fast each
// node may send so that no shared link is asked for more than it has.
//
// Source: Takano et al., "Effects of Packet Pacing for MPI Programs in a Grid
// Environment", section II: MATB = bandwidth of the shared link / number of
// nodes that can send over it.  Here for any tree and traffic.  npb_pattern.hpp
// has the paper's benchmarks, pacing.hpp its arithmetic of packets.
//
// Vocabulary
//   tree     hosts are its leaves, switches the rest; an edge joins a child to
//            its parent and has a capacity upwards and one downwards
//   link     one direction of an edge
//   edge link   upwards: a host's own sending link; downwards: its receiving one
//   trunk    any link between switches
//   pair     a source and a destination of messages
//
// Equations
//   share(link) = capacity / number of distinct sources whose messages cross it
//   MATB(pair)  = least share on its path
//   MATB(node)  = least of its pairs
//   A pair that crosses no link that counts has no limit (infinite).
//   Which links count: trunks (the paper's Table I); trunks and the senders' own
//   links; all, that is the receivers' too, where incast happens.
//
// Units: bit/s (any unit works).
//
// Example: two clusters of 32 hosts, one trunk of 10 Gbit/s.  All-to-all: 32
// nodes send over it, MATB 312.5 Mbit/s.  If 16 of each do, 625 Mbit/s.
//
// Limits: each source counts fully on each link that it uses, however little it
// sends there: the share is safe, not optimal.
//
// Cost: walks along the path of every pair; matb_alltoall() and
// matb_alltoall_clusters() know the pairs without looking at them and take time
// in proportion to the size of the tree.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"

namespace headway {

struct MatbEdge {
    std::string child;
    std::string parent;
    double up_bps = 0;    ///< from the child; positive, may be infinite
    double down_bps = 0;  ///< to the child
};

/// A tree with its nodes numbered so that a parent comes before its children;
/// node 0 is the root.  A value.
class MatbTree {
public:
    using Node = std::uint32_t;
    static constexpr Node root = 0;
    static constexpr std::uint32_t depth_max = 1024;

    /// Fails if the edges are no single tree, or one deeper than depth_max.
    [[nodiscard]] static Result<MatbTree> make(const std::vector<MatbEdge>& edges);

    [[nodiscard]] std::size_t size() const { return names_.size(); }
    [[nodiscard]] const std::string& name(Node node) const { return names_[node]; }
    [[nodiscard]] std::optional<Node> find(std::string_view name) const;
    [[nodiscard]] Node parent(Node node) const { return parent_[node]; }
    [[nodiscard]] std::uint32_t depth(Node node) const { return depth_[node]; }
    [[nodiscard]] bool is_host(Node node) const { return is_host_[node]; }
    [[nodiscard]] double up_bps(Node node) const { return up_bps_[node]; }
    [[nodiscard]] double down_bps(Node node) const { return down_bps_[node]; }

private:
    struct NameHash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    void add(std::string name, Node parent, const MatbEdge* edge);
    void find_hosts();

    std::vector<std::string> names_;
    std::unordered_map<std::string, Node, NameHash, std::equal_to<>> by_name_;
    std::vector<Node> parent_;
    std::vector<std::uint32_t> depth_;
    std::vector<bool> is_host_;
    std::vector<double> up_bps_;
    std::vector<double> down_bps_;
};

enum class MatbLinks { trunk, trunk_up, all };
enum class MatbDirection { up, down };

struct MatbPair {
    MatbTree::Node source = 0;
    MatbTree::Node destination = 0;
};

inline constexpr double matb_no_limit = std::numeric_limits<double>::infinity();

/// A link that counts and is crossed.
struct MatbShare {
    MatbDirection direction = MatbDirection::up;
    MatbTree::Node child = 0;
    std::uint32_t senders = 0;
    double share_bps = 0;
};

struct MatbResult {
    std::vector<MatbShare> links;  ///< upwards, then downwards; by node
    std::vector<double> pair_bps;
    std::vector<double> node_bps;  ///< of every node of the tree
};

/// Fails for a node that the tree does not have.
[[nodiscard]] Result<MatbResult> matb(const MatbTree& tree, std::span<const MatbPair> pairs,
                                      MatbLinks links);

struct MatbCluster {
    std::uint64_t hosts = 0;
    double uplink_bps = 0;  ///< of the cluster's trunk, in each direction
};

/// Every host sends to every other, in clusters around one switch, trunks only: MATB of each
/// cluster's hosts.  Over the trunk of c go n_c senders upwards, all others downwards.
[[nodiscard]] std::vector<double> matb_alltoall_clusters(std::span<const MatbCluster> clusters);

/// Bytes between two packets of a paced sender: packet (link / rate - 1).  Packets are counted as
/// the paper does; on the wire each takes more (base/wire.hpp), so that N senders at B/N of this
/// arithmetic ask for more than B.
///
/// Example: 500 Mbit/s on 1 Gbit/s in packets of 1500 bytes: a gap of 1500 bytes, an interval of
/// 24 us (the paper's Figure 3).
[[nodiscard]] constexpr double paper_gap_bytes(double link_bps, double rate_bps,
                                               double packet_bytes) {
    return packet_bytes * (link_bps / rate_bps - 1);
}

/// From start to start of these packets, s.
[[nodiscard]] constexpr double paper_interval_s(double rate_bps, double packet_bytes) {
    return packet_bytes * 8 / rate_bps;
}

}  // namespace headway

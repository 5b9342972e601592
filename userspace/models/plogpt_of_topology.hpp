// SPDX-License-Identifier: Apache-2.0
// A topology as PlogPT's tree, with hosts at some of its leaves.
//
// Vocabulary: see plogpt_tree.hpp.  Up to 2^k hosts of a cluster are k heights with
// b(h) = 2^(h-1) edges, because a switch does not hold its ports back.  A trunk
// is the edge above; up to 2^j clusters at one switch are j heights, the lowest
// with b = the trunk, then twice that, and so on.  A switch with one cluster below
// it adds no height: the slower of both trunks counts.  Where clusters have fewer heights
// than others at their switch, their half of the tree is as high, with nobody at its other leaves.
//   d(h) = the buffer in front of the link, as time on it; unknown is 0
//   L    = the longest delay between two clusters
//
// Example: two clusters of 4 hosts of 20 Mbit/s, trunks 25 Mbit/s: b = 20, 40, 25.
// Two of these pairs below trunks of 40 Mbit/s: b = 20, 40, 25, 40.  Clusters of 3 and 2 hosts:
// b = 20, 40, 25 as well, with hosts at the leaves 0, 1, 2, 4 and 5.
#pragma once

#include <cstdint>
#include <vector>

#include "models/plogpt_tree.hpp"
#include "network/topology.hpp"

namespace headway {

struct PlogptTopology {
    PlogptTree tree;
    BitsPerSecond edge_rate;  ///< of every host
    double latency_s = 0;     ///< L
    /// The leaf of each host that takes part, in the order of the file.
    std::vector<std::uint32_t> leaf_of_host;

    [[nodiscard]] bool is_full() const { return leaf_of_host.size() == tree.leaves(); }
};

/// Fails, saying why, for trees that are not alike about every switch.
[[nodiscard]] Result<PlogptTopology> plogpt_of_topology(const Topology& topology,
                                                       const HostCounts& hosts);

}  // namespace headway

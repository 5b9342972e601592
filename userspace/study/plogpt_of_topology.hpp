// SPDX-License-Identifier: Apache-2.0
// A topology as PlogPT's tree, if it is one.
//
// Vocabulary: see plogpt_tree.hpp.  2^k hosts of a cluster are k heights with
// b(h) = 2^(h-1) edges, because a switch does not hold its ports back.  A trunk
// is the edge above; 2^j equal clusters at one switch are j heights, the lowest
// with b = the trunk, then twice that, and so on.  A switch with one cluster below
// it adds no height: the slower of both trunks counts.
//   d(h) = the buffer in front of the link, as time on it; unknown is 0
//   L    = the longest delay between two clusters
//
// Example: two clusters of 4 hosts of 20 Mbit/s, trunks 25 Mbit/s: b = 20, 40, 25.
// Two of these pairs below trunks of 40 Mbit/s: b = 20, 40, 25, 40.
//
// Leaf r is the r-th host that takes part, in the order of the file.
#pragma once

#include "model/plogpt_tree.hpp"
#include "plan/topology.hpp"

namespace headway {

struct PlogptTopology {
    PlogptTree tree;
    BitsPerSecond edge_rate;  ///< of every host
    double latency_s = 0;     ///< L
};

/// Fails, saying why, for what is no perfect binary tree of equal hosts.
[[nodiscard]] Result<PlogptTopology> plogpt_of_topology(const Topology& topology,
                                                       const HostCounts& hosts);

}  // namespace headway

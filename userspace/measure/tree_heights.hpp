// SPDX-License-Identifier: Apache-2.0
// The heights of PlogPT's tree in a tree of hosts that was found.
//
// Source: Nomura et al. (models/plogpt_measure.hpp), sections II-C and III-C: in a perfect binary
// tree the edges of height h are full while all pairs of leaves i -> i + 2^(h-1), i < 2^(h-1),
// send at once; b(h) is the sum of what these pairs get, d(h) the time that a frame waits in a
// full buffer before such an edge.
//
// A switch counts as the heights of a binary tree of what is attached to it, hosts and switches:
// the two of fewest hosts are joined until one subtree is left, and have to be equal each time.
// Two hosts and a switch of two more make two heights: (1 + 1) + 2.
#pragma once

#include <optional>
#include <vector>

#include "base/error.hpp"
#include "measure/host_tree.hpp"

namespace headway {

/// Hosts as PlogPT numbers the leaves.  Fails, saying why, for a tree that is not perfect.
[[nodiscard]] Result<std::vector<std::size_t>> binary_leaf_order(const HostTree& tree);

/// The burst of height h, from 1 on, one way.
[[nodiscard]] std::vector<Flow> burst_of_height(const std::vector<std::size_t>& leaf_order, unsigned h);

/// Returns the links where a burst's frames may wait: the two at the top of the flow's path,
/// without the sender's own, which is not the network's.
[[nodiscard]] std::vector<DirectedLink> top_links(const HostTree& tree, const Flow& flow);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// PlogPT's throughput of communications that share edges of the tree.
//
// Source: Nomura et al. (see plogp.hpp), section III-B.2.
//
// Vocabulary
//   flow    a communication that is under way, from leaf to leaf
//   E(C,t)  the directed edges of flow C: up from its source to the highest
//           node of the path, down from there to its destination
//   c(E)    how many flows use the directed edge E now
//
// Equation
//   (7) b_c(C,t) = min over E in E(C,t) of b(h(E)) / c(E)
//
// Example (III-E): b(1) = 3, b(2) = 4 and flows 0->2, 1->3, 2->0, 3->1.  An edge
// of height 2 has two flows in each direction: every rate is min(3/1, 4/2) = 2.
//
// Limits: what a flow leaves of its share (because another edge gives it less)
// is not given to others; a maximum would be max-min fairness.  A message to
// oneself uses no edge, its rate is infinite.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/plogpt_tree.hpp"

namespace headway {

struct PlogptFlow {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
};

/// (7) of every flow, bytes/s.  Fails for a leaf that the tree does not have.
[[nodiscard]] Result<std::vector<double>> plogpt_rates(const PlogptTree& tree,
                                                       std::span<const PlogptFlow> flows);

}  // namespace headway

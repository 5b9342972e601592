// SPDX-License-Identifier: Apache-2.0
// Which links of a network limit an all-to-all of all its hosts.
//
// Vocabulary
//   pair     a source and a destination, both hosts
//   crossing of a direction of an edge: the pairs whose messages use it.  With k
//            of N hosts below the edge these are k (N - k), up and down alike
//
// Equation
//   rate of every pair = least of capacity / crossing over all directed edges
// Those where it is least are the limiting ones.
//
// Example: two clusters of 4 hosts of 20 Mbit/s, trunks of 25 Mbit/s.  A trunk
// is crossed by 16 pairs, 1.5625 Mbit/s each; a host's link by 7, 2.857 Mbit/s
// each.  The trunks limit.
//
// An edge of several links has the capacity until the fullest one is full (plan/hashed_links.hpp).
//
// Limits: capacity is that of the wire; what protocols need comes out of it.
#pragma once

#include <cstdint>
#include <vector>

#include "network/network_tree.hpp"

namespace headway {

struct AlltoallLimits {
    double pair_rate_bps = 0;             ///< 0 with fewer than two hosts
    std::vector<std::uint64_t> crossing;  ///< of each node's edge, in each direction
    std::vector<bool> up_limits;          ///< of each node's edge
    std::vector<bool> down_limits;
};

[[nodiscard]] AlltoallLimits alltoall_limits(const NetworkTree& tree);

}  // namespace headway

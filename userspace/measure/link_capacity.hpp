// SPDX-License-Identifier: Apache-2.0
// What the links of a tree carry at most, from bulks through them.
//
// A link has carried, in some bulk, the sum of the flows across it: that much it can do at
// least.  It can do no more if it has slowed a flow down: a flow that got less than its
// hosts send and receive otherwise was held up by a link of its path that carried, in that
// bulk, as much as it ever did.  If its path has one such link only, that link was full and
// its capacity is known; with several, one of them is, and which cannot be told.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "measure/host_tree.hpp"
#include "measure/laboratory.hpp"

namespace headway {

struct LinkCapacity {
    /// Wire bytes: the mean of the bulks that filled the link, or the most that it has carried.
    double bytes_per_s = 0;
    double half_width_bytes_per_s = 0;  ///< of the interval of 95 % confidence; infinite of one bulk
    bool is_exact = false;   ///< else: at least that much
    /// All of these have carried their most together, so nobody can tell which of them was full.
    bool is_shared_guess = false;
};

struct ObservedBulk {
    Bulk bulk;
    BulkOutcome outcome;
};

using LinkCapacities = std::map<DirectedLink, LinkCapacity>;

/// Finds the capacity of every link that a flow has crossed.
[[nodiscard]] LinkCapacities link_capacities(const HostTree& tree, std::span<const ObservedBulk> observed);

/// Flows of a bulk that got less than the hosts at their ends have done otherwise.
[[nodiscard]] std::vector<bool> slowed_flows(std::span<const ObservedBulk> observed, const ObservedBulk& one);

}  // namespace headway

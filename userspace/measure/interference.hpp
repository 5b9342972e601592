// SPDX-License-Identifier: Apache-2.0
// Who shares a link with whom, where delays do not tell: switches that answer as fast as one
// and yet are joined by a trunk that is too narrow.
//
// All hosts of a group send at once, each to another one, in several random orders.  Flows
// within a switch get all that their hosts can do; those that meet in a trunk are slowed
// down.  Two hosts whose flows are mostly slowed down are apart, and groups of hosts that
// are mostly apart from each other are behind different switches (average linkage).
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "measure/link_capacity.hpp"

namespace headway {

/// One flow from every host to the one that follows it in a random order.
[[nodiscard]] std::vector<Flow> random_cycle(std::vector<std::size_t> hosts, std::minstd_rand& random);

struct InterferenceGroups {
    /// One: nothing is between the hosts that slows them down.
    std::vector<std::vector<std::size_t>> groups;
    /// Most flows were slowed down, no matter between whom: the hosts themselves are too
    /// slow to send and receive at once, and there is one group.
    bool hosts_are_slow = false;
};

/// From bulks among `hosts` only; `all` are those that tell what the hosts can do.
[[nodiscard]] InterferenceGroups groups_by_interference(std::span<const std::size_t> hosts,
                                                        std::span<const ObservedBulk> among,
                                                        std::span<const ObservedBulk> all);

}  // namespace headway

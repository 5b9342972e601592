// SPDX-License-Identifier: Apache-2.0
// How many bytes a node may send towards a cluster without gaps between its frames.
//
// Source: Headway's own, after the network calculus of constant rates (Cruz 1991): where n senders
// at rates that add up to at most a link's each send a burst at once, n bursts wait in front of it
// at most, and never more however long they go on.
//
// Plans rely on buffer_part of a buffer for what they let pile up, and for frames that happen to
// meet.  The rest is the bursts': each class of each host whose packets may cross a link gets an
// equal part of it, and of its path's parts the least.  A buffer of which nothing is known holds none.
//
// Worked example: two racks of 4, ports with 256 KiB, trunks with 512 KiB.  In front of a host
// 65 536 bytes are shared by 7 senders, 9362 bytes each; in front of the trunk 131 072 by 4.  So
// a class has bursts of 9362 bytes, six full frames.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/topology.hpp"

namespace headway {

struct ClassBurst {
    std::uint32_t bytes = 0;  ///< of wire time; 0: each frame has a gap of its own
    std::string reason;
};

/// Returns the bursts of a host of `own_cluster`, by the cluster to which it sends.
[[nodiscard]] std::vector<ClassBurst> plan_bursts(const Topology& topology, std::size_t own_cluster);

/// Their bytes alone, without writing reasons.
[[nodiscard]] std::vector<std::uint32_t> plan_burst_bytes(const Topology& topology, std::size_t own_cluster);

}  // namespace headway

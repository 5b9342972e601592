// SPDX-License-Identifier: Apache-2.0
// What <cluster> of a SimGrid platform stands for.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "formats/cable_graph.hpp"

namespace headway {

struct SimgridCluster {
    std::uint32_t line = 0;
    std::string id;
    std::string prefix;
    std::string suffix;
    std::string router;  ///< empty: SimGrid's own name for it
    CableGraph::Direction edge;
    std::vector<std::string> hosts;
};

/// A switch and its hosts; behind it, where messages cross a backbone that takes time, the router.
void add_flat(CableGraph& graph, const SimgridCluster& cluster,
              std::chrono::nanoseconds backbone_delay);

/// Reads "LEVELS;DOWN,...;UP,...;CABLES,...", from the hosts up: how many are below each switch.
/// Fails for a fat tree in which anything has two ways up, and for another number of hosts.
[[nodiscard]] Result<std::vector<std::size_t>> fat_tree_levels(std::string_view parameters,
                                                               std::size_t hosts);
/// The root is the cluster's router.
void add_fat_tree(CableGraph& graph, const SimgridCluster& cluster,
                  const std::vector<std::size_t>& levels);

}  // namespace headway

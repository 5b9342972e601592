// SPDX-License-Identifier: Apache-2.0
#include "formats/simgrid_cluster.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/text_lines.hpp"

namespace headway {
namespace {

std::string router_of(const SimgridCluster& cluster) {
    return cluster.router.empty()
               ? fmt::format("{}{}_router{}", cluster.prefix, cluster.id, cluster.suffix)
               : cluster.router;
}

void add_cable(CableGraph& graph, std::uint32_t line, const std::string& a, const std::string& b,
               const CableGraph::Direction& direction) {
    graph.add_direction(line, a, b, direction);
    graph.add_direction(line, b, a, direction);
}

/// Numbers between commas; empty: these are none.
std::vector<std::size_t> numbers_of(std::string_view text) {
    std::vector<std::size_t> numbers;
    for (const std::string_view word : split_words(text, ", ")) {
        const auto number = to_number<std::size_t>(word);
        if (!number || *number == 0 || *number > network_nodes_max) return {};
        numbers.push_back(*number);
    }
    return numbers;
}

}  // namespace

void add_flat(CableGraph& graph, const SimgridCluster& cluster,
              std::chrono::nanoseconds backbone_delay) {
    const std::string router = router_of(cluster);
    graph.add_point(cluster.line, NetworkNodeKind::switch_node, router);
    std::string middle = router;
    CableGraph::Direction edge = cluster.edge;
    if (backbone_delay.count() > 0) {
        // Two hosts have both halves between them, a host and what is outside one and the cable's.
        const auto half = backbone_delay / 2;
        middle = router + "_backbone";
        graph.add_point(cluster.line, NetworkNodeKind::switch_node, middle);
        add_cable(graph, cluster.line, middle, router, {rate_max, backbone_delay - half});
        edge.delay += half;
    }
    for (const std::string& host : cluster.hosts) {
        graph.add_point(cluster.line, NetworkNodeKind::host, host);
        add_cable(graph, cluster.line, host, middle, edge);
    }
}

Result<std::vector<std::size_t>> fat_tree_levels(std::string_view parameters, std::size_t hosts) {
    const auto parts = split_words(parameters, ";");
    if (parts.size() != 4)
        return failure("{} is not LEVELS;DOWN,...;UP,...;CABLES,...", in_quotes(parameters));
    auto down = numbers_of(parts[1]);
    const auto up = numbers_of(parts[2]), cables = numbers_of(parts[3]);
    const auto levels = to_number<std::size_t>(parts[0]);
    if (!levels || *levels == 0 || down.size() != levels || up.size() != levels ||
        cables.size() != levels)
        return failure("{} has not as many numbers as levels in each part", in_quotes(parameters));
    const auto is_one = [](std::size_t count) { return count == 1; };
    if (!std::ranges::all_of(up, is_one) || !std::ranges::all_of(cables, is_one))
        return failure("in a fat tree of {} there are several ways up, and plans know one link",
                       in_quotes(parameters));
    std::size_t all = 1;
    for (const std::size_t count : down)
        all = std::min(all * count, std::size_t{network_nodes_max} + 1);
    if (all != hosts)
        return failure("{} is a fat tree of {} hosts, and the cluster has {}",
                       in_quotes(parameters), all, hosts);
    return down;
}

void add_fat_tree(CableGraph& graph, const SimgridCluster& cluster,
                  const std::vector<std::size_t>& levels) {
    graph.add_point(cluster.line, NetworkNodeKind::switch_node,
                    router_of(cluster));  // the first is the root
    std::vector<std::string> below = cluster.hosts;
    for (const std::string& host : below)
        graph.add_point(cluster.line, NetworkNodeKind::host, host);
    for (std::size_t level = 0; level < levels.size(); ++level) {
        std::vector<std::string> switches;
        for (std::size_t first = 0; first < below.size(); first += levels[level]) {
            if (level + 1 == levels.size()) {
                switches.push_back(router_of(cluster));
            } else {
                switches.push_back(fmt::format("{}{}_{}_{}{}", cluster.prefix, cluster.id,
                                               level + 1, switches.size(), cluster.suffix));
                graph.add_point(cluster.line, NetworkNodeKind::switch_node, switches.back());
            }
            for (std::size_t i = first; i < first + levels[level]; ++i) {
                add_cable(graph, cluster.line, below[i], switches.back(), cluster.edge);
            }
        }
        below = std::move(switches);
    }
}

}  // namespace headway

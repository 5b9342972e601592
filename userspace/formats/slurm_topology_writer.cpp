// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "base/hostlist.hpp"
#include "formats/slurm_topology.hpp"

namespace headway {
namespace {

using Node = NetworkTree::Node;

/// LinkSpeed of a switch's links, if they have one rate that it can say.
std::optional<std::uint64_t> link_speed(const NetworkTree& tree, Node node, BitsPerSecond unit) {
    const BitsPerSecond rate = tree.edge(tree.children(node).front()).up_rate;
    for (const Node child : tree.children(node)) {
        const NetworkEdge& edge = tree.edge(child);
        if (edge.up_rate != rate || edge.down_rate != rate) return std::nullopt;
    }
    if (rate.value % unit.value != 0) return std::nullopt;
    return rate.value / unit.value;
}

}  // namespace

Result<WrittenTopology> write_slurm_topology(const NetworkTree& tree, const SlurmOptions& options) {
    WrittenTopology written;
    for (Node node = 0; node < tree.size(); ++node) {
        if (tree.is_host(node)) continue;
        std::vector<std::string> hosts;
        std::vector<std::string> switches;
        for (const Node child : tree.children(node)) {
            (tree.is_host(child) ? hosts : switches).push_back(tree.name(child));
        }
        if (hosts.empty() == switches.empty()) {
            return failure("switch \"{}\" has {}, which Slurm's topology/tree refuses",
                           tree.name(node),
                           hosts.empty() ? "neither nodes nor switches" : "both nodes and switches");
        }
        fmt::format_to(std::back_inserter(written.text), "SwitchName={} {}={}", tree.name(node),
                       hosts.empty() ? "Switches" : "Nodes",
                       format_hostlist(hosts.empty() ? switches : hosts, AfterBrackets::nothing));
        if (options.link_speed_unit) {
            if (const auto speed = link_speed(tree, node, *options.link_speed_unit)) {
                fmt::format_to(std::back_inserter(written.text), " LinkSpeed={}", *speed);
            } else {
                written.losses.push_back(fmt::format(
                    "the links below switch \"{}\" are no one multiple of {} in both directions: "
                    "no LinkSpeed",
                    tree.name(node), rate_to_tc(*options.link_speed_unit)));
            }
        }
        written.text += '\n';
    }
    if (!options.link_speed_unit) {
        written.losses.emplace_back("no LinkSpeed is written without --link-speed-unit");
    }
    note_losses(tree, "topology.conf", DelaysAre::lost, written);
    return written;
}

}  // namespace headway

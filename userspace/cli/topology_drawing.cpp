// SPDX-License-Identifier: Apache-2.0
#include "cli/topology_drawing.hpp"

#include <iterator>

#include "base/hostlist.hpp"
#include "base/text_lines.hpp"
#include "base/units.hpp"
#include "config/network_file.hpp"
#include "models/network_alltoall.hpp"

namespace headway {
namespace {

using Node = NetworkTree::Node;

constexpr std::size_t list_max_bytes = 40;

std::string rates_text(const NetworkEdge& edge) {
    const std::string links = edge.links.are_hashed() ? fmt::format("{} x ", edge.links.count) : "";
    if (edge.up_rate == edge.down_rate) return links + rate_to_text(edge.up_rate);
    return fmt::format("{}{} up, {} down", links, rate_to_text(edge.up_rate), rate_to_text(edge.down_rate));
}

std::string link_text(const NetworkEdge& edge, bool up_limits, bool down_limits) {
    std::string text = rates_text(edge);
    if (edge.delay.count() != 0) text += ", " + duration_to_text(edge.delay);
    if (up_limits || down_limits) {
        text += up_limits && down_limits ? ", limits" : up_limits ? ", limits up" : ", limits down";
    }
    return text;
}

std::string hosts_text(const std::vector<std::string>& names) {
    std::string list = format_hostlist(names);
    if (list.size() > list_max_bytes) list = list.substr(0, list_max_bytes) + "...";
    return names.size() == 1 ? list : fmt::format("{} ({})", list, counted(names.size(), "host"));
}

std::string caption_of(const NetworkTree& tree, const AlltoallLimits& limits) {
    if (limits.pair_rate_bps <= 0) return fmt::format("{} host", tree.host_count());
    return fmt::format("All-to-all of {} hosts: {} for each pair at most. Links that limit are red "
                       "and thick.",
                       tree.host_count(),
                       rate_to_text({static_cast<std::uint64_t>(limits.pair_rate_bps)}));
}

std::string dot_quoted(const std::string& text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    return quoted + '"';
}

}  // namespace

std::string cable_text(const NetworkTree& tree) {
    const auto delay = delay_of_cable(tree);
    if (!delay || delay->count() == 0) return "";
    const auto& ends = tree.children(NetworkTree::root);
    return fmt::format(" {0} and {1} have one cable between them: its delay, {2}, stands at {0}.",
                       tree.name(ends[0]), tree.name(ends[1]), duration_to_text(*delay));
}

Drawing draw_network(const NetworkTree& tree) {
    const AlltoallLimits limits = alltoall_limits(tree);
    Drawing drawing;
    drawing.caption = caption_of(tree, limits) + cable_text(tree);
    std::vector<std::size_t> drawn_as(tree.size());
    const auto add = [&](Node node, std::string label) {
        drawn_as[node] = drawing.nodes.size();
        DrawnNode drawn;
        drawn.label = std::move(label);
        drawn.is_hosts = tree.is_host(node);
        drawn.depth = tree.depth(node);
        drawn.parent = drawn_as[tree.parent(node)];
        drawn.is_limiting = limits.up_limits[node] || limits.down_limits[node];
        if (node != NetworkTree::root) {
            drawn.link_label =
                link_text(tree.edge(node), limits.up_limits[node], limits.down_limits[node]);
        }
        drawing.nodes.push_back(std::move(drawn));
    };
    for (Node node = 0; node < tree.size(); ++node) {
        if (!tree.is_host(node)) {
            add(node, tree.name(node));
            continue;
        }
        // Hosts of one switch are neighbours.
        std::vector<std::string> names{tree.name(node)};
        Node last = node;
        while (last + 1 < tree.size() && tree.is_host(last + 1) &&
               tree.parent(last + 1) == tree.parent(node) &&
               tree.edge(last + 1) == tree.edge(node)) {
            names.push_back(tree.name(++last));
        }
        add(node, hosts_text(names));
        node = last;
    }
    return drawing;
}

std::string drawing_dot(const Drawing& drawing) {
    std::string text = fmt::format("graph network {{\n  label={};\n  node [shape=box];\n",
                                   dot_quoted(drawing.caption));
    const auto out = std::back_inserter(text);
    for (std::size_t i = 0; i < drawing.nodes.size(); ++i) {
        const DrawnNode& node = drawing.nodes[i];
        fmt::format_to(out, "  n{} [label={}{}];\n", i, dot_quoted(node.label),
                       node.is_hosts ? ", style=rounded" : "");
        if (i == 0) continue;
        fmt::format_to(out, "  n{} -- n{} [label={}{}];\n", node.parent, i,
                       dot_quoted(node.link_label),
                       node.is_limiting ? ", color=red, penwidth=3" : "");
    }
    return text + "}\n";
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "formats/cable_graph.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace headway {
namespace {

constexpr const char* tree_advice = "describe a tree: switches joined by one cable each, hosts at "
                                    "its ends";

}  // namespace

void CableGraph::add_point(std::uint32_t line, NetworkNodeKind kind, const std::string& name) {
    if (points_.size() >= network_nodes_max) {
        mistakes_.add(line, "", fmt::format("more than {} hosts and switches", network_nodes_max),
                      "describe a smaller network");
    } else if (!is_plain_name(name)) {
        mistakes_.add(line, "id", "a host or a router has no plain name",
                      "use letters, digits, '.', '-', '_'");
    } else if (!by_name_.emplace(name, points_.size()).second) {
        mistakes_.add(line, "id", fmt::format("\"{}\" is described twice", name),
                      "give every host and router its own name");
    } else {
        points_.push_back({line, kind, name, {}});
    }
}

std::optional<std::size_t> CableGraph::find(std::uint32_t line, const std::string& name) {
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return found->second;
    mistakes_.add(line, "route", fmt::format("there is no host or router \"{}\" before it",
                                             name.substr(0, 60)),
                  "describe it first");
    return std::nullopt;
}

void CableGraph::add_direction(std::uint32_t line, const std::string& from, const std::string& to,
                               const Direction& direction) {
    const auto source = find(line, from);
    const auto destination = find(line, to);
    if (!source || !destination) return;
    if (*source == *destination) {
        mistakes_.add(line, "route", fmt::format("it leads from \"{}\" to itself", from),
                      "leave it out: messages to oneself cost nothing");
        return;
    }
    const std::size_t a = std::min(*source, *destination);
    const std::size_t b = std::max(*source, *destination);
    const auto [entry, is_new] = by_ends_.emplace((std::uint64_t{a} << 32) | b, cables_.size());
    if (is_new) {
        cables_.push_back({line, a, b, {}, {}});
        points_[a].cables.push_back(entry->second);
        points_[b].cables.push_back(entry->second);
    }
    auto& same = *source == a ? cables_[entry->second].a_to_b : cables_[entry->second].b_to_a;
    if (same) {
        mistakes_.add(line, "route", fmt::format("\"{}\" and \"{}\" are joined twice", from, to),
                      "write one route, or one of each direction with symmetrical=\"NO\"");
        return;
    }
    same = direction;
}

void CableGraph::check_cables() {
    for (const Cable& cable : cables_) {
        const std::string& a = points_[cable.a].name;
        const std::string& b = points_[cable.b].name;
        if (!cable.a_to_b || !cable.b_to_a) {
            mistakes_.add(cable.line, "route",
                          fmt::format("there is no way back between \"{}\" and \"{}\"", a, b),
                          "add the route of the other direction, or symmetrical=\"YES\"");
        } else if (cable.a_to_b->delay != cable.b_to_a->delay) {
            mistakes_.add(cable.line, "latency",
                          fmt::format("it differs by direction between \"{}\" and \"{}\"", a, b),
                          "give both directions one latency");
        }
    }
    for (const Point& point : points_) {
        if (point.kind == NetworkNodeKind::host && point.cables.size() > 1) {
            mistakes_.add(point.line, "host",
                          fmt::format("host \"{}\" is joined to {} others", point.name,
                                      point.cables.size()),
                          tree_advice);
        }
    }
}

NetworkItem CableGraph::item_of(std::size_t point, std::size_t above, const Cable* cable) const {
    NetworkItem item;
    item.kind = points_[point].kind;
    item.name = points_[point].name;
    if (cable == nullptr) return item;
    const bool up_is_a_to_b = cable->a == point;
    item.parent = points_[above].name;
    item.edge.up_rate = (up_is_a_to_b ? cable->a_to_b : cable->b_to_a)->rate;
    item.edge.down_rate = (up_is_a_to_b ? cable->b_to_a : cable->a_to_b)->rate;
    item.edge.delay = cable->a_to_b->delay;
    return item;
}

std::vector<NetworkItem> CableGraph::walk(std::size_t root) {
    struct Step {
        std::size_t point;
        std::size_t above;
        const Cable* cable;
    };
    std::vector<NetworkItem> items;
    std::vector<bool> is_known(points_.size());
    std::vector<Step> next{{root, root, nullptr}};
    is_known[root] = true;
    for (std::size_t i = 0; i < next.size(); ++i) {
        const Step at = next[i];
        items.push_back(item_of(at.point, at.above, at.cable));
        for (const std::size_t index : points_[at.point].cables) {
            const Cable& cable = cables_[index];
            if (&cable == at.cable) continue;
            const std::size_t other = cable.a == at.point ? cable.b : cable.a;
            if (is_known[other]) {
                mistakes_.add(cable.line, "route",
                              fmt::format("\"{}\" and \"{}\" close a loop", points_[at.point].name,
                                          points_[other].name),
                              tree_advice);
                return {};
            }
            is_known[other] = true;
            next.push_back({other, at.point, &cable});
        }
    }
    for (std::size_t point = 0; point < points_.size(); ++point) {
        if (is_known[point]) continue;
        mistakes_.add(points_[point].line, "",
                      fmt::format("\"{}\" is not joined to \"{}\"", points_[point].name,
                                  points_[root].name),
                      tree_advice);
    }
    return items;
}

std::optional<NetworkTree> CableGraph::tree() {
    const auto root = std::find_if(points_.begin(), points_.end(), [](const Point& point) {
        return point.kind == NetworkNodeKind::switch_node;
    });
    if (root == points_.end()) {
        mistakes_.add(0, "router", "there is no router or cluster", tree_advice);
        return std::nullopt;
    }
    check_cables();
    if (!mistakes_.empty()) return std::nullopt;
    auto items = walk(static_cast<std::size_t>(root - points_.begin()));
    if (!mistakes_.empty()) return std::nullopt;
    auto tree = NetworkTree::make(std::move(items));
    if (tree) return std::move(*tree);
    mistakes_.add(0, "", tree.error().message, tree_advice);
    return std::nullopt;
}

}  // namespace headway

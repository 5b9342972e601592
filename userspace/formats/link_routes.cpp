// SPDX-License-Identifier: Apache-2.0
#include "formats/link_routes.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace headway {
namespace {

constexpr const char* way_advice =
    "write links and routes of a tree; what many routes share in the middle is none";

}  // namespace

void LinkRoutes::add(std::uint32_t line, const std::string& from, const std::string& to,
                     std::vector<LinkHop> hops) {
    for (const std::string& end : {from, to}) {
        if (std::ranges::find(ends_, end) == ends_.end()) ends_.push_back(end);
    }
    if (routes_.emplace(std::pair(from, to), Route{line, std::move(hops)}).second) return;
    mistakes_.add(line, "route", fmt::format("\"{}\" and \"{}\" are joined twice", from, to),
                  "write one route, or one of each direction with symmetrical=\"NO\"");
}

void LinkRoutes::add_cables() {
    for (const std::string& end : ends_) {
        if (!place_of_.contains(end)) grow(end);
    }
    for (const auto& [ends, route] : routes_) {
        if (mistakes_.full()) return;
        compare(ends.first, ends.second, route);
    }
    for (std::size_t place = 0; place < places_.size(); ++place) {
        if (places_[place].depth > 0) join(place);
    }
}

/// The tree of all routes that begin there.
void LinkRoutes::grow(const std::string& first) {
    place_of_[first] = places_.size();
    Place root;
    root.name = first;
    root.above = places_.size();
    places_.push_back(root);
    for (auto route = routes_.lower_bound({first, ""});
         route != routes_.end() && route->first.first == first; ++route) {
        place(route->first.second, route->second);
    }
}

void LinkRoutes::place(const std::string& end, const Route& route) {
    if (place_of_.contains(end)) return;
    std::size_t at = places_.size() - 1;
    while (places_[at].depth > 0) at = places_[at].above;
    for (const LinkHop& hop : route.hops) {
        const auto known = std::ranges::find_if(
            places_[at].below, [&](std::size_t p) { return places_[p].forth.is_same(hop); });
        if (known != places_[at].below.end()) {
            at = *known;
            continue;
        }
        Place next;
        next.above = at;
        next.depth = places_[at].depth + 1;
        next.forth = hop;
        next.line = route.line;
        places_[at].below.push_back(places_.size());
        at = places_.size();
        places_.push_back(std::move(next));
    }
    if (!places_[at].name.empty()) {
        mistakes_.add(route.line, "route",
                      fmt::format("\"{}\" and \"{}\" are at the end of the same links", end,
                                  places_[at].name),
                      "give each host a link of its own");
    }
    places_[at].name = end;
    place_of_[end] = at;
}

/// Up from the one end to where both meet, and down to the other: those have to be the route's
/// links.
void LinkRoutes::compare(const std::string& from, const std::string& to, const Route& route) {
    std::size_t up = place_of_[from], down = place_of_[to];
    std::vector<LinkHop> downwards;
    std::size_t hop = 0;
    bool is_path = true;
    while (up != down && is_path) {
        if (places_[up].depth == 0 && places_[down].depth == 0) {
            is_path = false;  // two trees
        } else if (places_[up].depth >= places_[down].depth) {
            std::optional<LinkHop>& back = places_[up].back;
            is_path = hop < route.hops.size() && (!back || back->is_same(route.hops[hop]));
            if (is_path) back = route.hops[hop++];
            up = places_[up].above;
        } else {
            downwards.push_back(places_[down].forth);
            down = places_[down].above;
        }
    }
    std::ranges::reverse(downwards);
    if (is_path && std::equal(route.hops.begin() + static_cast<std::ptrdiff_t>(hop),
                              route.hops.end(), downwards.begin(), downwards.end(),
                              [](const LinkHop& a, const LinkHop& b) { return a.is_same(b); }))
        return;
    mistakes_.add(route.line, "route",
                  fmt::format("from \"{}\" to \"{}\" it crosses other links than a tree of the "
                              "other routes has there",
                              from, to),
                  way_advice);
}

void LinkRoutes::join(std::size_t place) {
    Place& here = places_[place];
    if (!here.back) {
        mistakes_.add(
            here.line, "route",
            fmt::format("no route comes back where this one crosses link \"{}\"", here.forth.link),
            "add the route of the other direction, or symmetrical=\"YES\"");
        return;
    }
    if (here.forth.is_same(*here.back) && !here.forth.is_split) {
        mistakes_.add(
            here.line, "link_ctn",
            fmt::format("both directions would share the SHARED link \"{}\"", here.forth.link),
            "give the link sharing_policy=\"SPLITDUPLEX\", or each direction its own link");
        return;
    }
    if (!used_.emplace(here.forth.link, here.forth.is_down).second ||
        (!here.forth.is_same(*here.back) &&
         !used_.emplace(here.back->link, here.back->is_down).second)) {
        mistakes_.add(here.line, "link_ctn",
                      fmt::format("link \"{}\" would be several cables", here.forth.link),
                      way_advice);
        return;
    }
    if (here.name.empty()) {
        here.name = here.forth.link + "_end";
        while (graph_.has_point(here.name)) here.name += "_";
        graph_.add_point(here.line, NetworkNodeKind::switch_node, here.name);
    }
    const std::string& above = places_[here.above].name;
    graph_.add_direction(here.line, above, here.name, here.forth.direction);
    graph_.add_direction(here.line, here.name, above, here.back->direction);
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// Routes that cross several links each, as Full zones of SimGrid list them, on the way to cables:
// the tree of links that has them all, if there is one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/cable_graph.hpp"
#include "formats/file_mistakes.hpp"

namespace headway {

/// A link in one of its directions.
struct LinkHop {
    std::string link;
    bool is_split = false;        ///< each direction has the bandwidth
    std::optional<bool> is_down;  ///< of a split link; nothing: the route does not say
    CableGraph::Direction direction;

    /// Two hops are the same also if one of them does not say its direction.
    [[nodiscard]] bool is_same(const LinkHop& other) const {
        return link == other.link && (!is_down || !other.is_down || is_down == other.is_down);
    }
    [[nodiscard]] LinkHop reversed() const {
        LinkHop back = *this;
        if (is_down) back.is_down = !*is_down;
        return back;
    }
};

class LinkRoutes {
public:
    LinkRoutes(CableGraph& graph, FileMistakes& mistakes) : graph_(graph), mistakes_(mistakes) {}

    /// One direction of a route, with one hop at least.
    void add(std::uint32_t line, const std::string& from, const std::string& to,
             std::vector<LinkHop> hops);
    /// Adds the cables of all routes to the graph, and switches where links meet; or says which
    /// route does not go with those before it.
    void add_cables();

private:
    struct Route {
        std::uint32_t line = 0;
        std::vector<LinkHop> hops;
    };
    /// Where links meet or end, with the link that leads to it from the first end of the tree.
    struct Place {
        std::size_t above = 0;
        std::size_t depth = 0;
        LinkHop forth;
        std::optional<LinkHop> back;
        std::string name;
        std::uint32_t line = 0;
        std::vector<std::size_t> below;
    };

    void grow(const std::string& first);
    void place(const std::string& end, const Route& route);
    void compare(const std::string& from, const std::string& to, const Route& route);
    void join(std::size_t place);

    CableGraph& graph_;
    FileMistakes& mistakes_;
    std::map<std::pair<std::string, std::string>, Route> routes_;
    std::vector<std::string> ends_;  ///< in the order in which routes name them
    std::map<std::string, std::size_t> place_of_;
    std::vector<Place> places_;
    std::set<std::pair<std::string, std::optional<bool>>> used_;  ///< links and their directions
};

}  // namespace headway

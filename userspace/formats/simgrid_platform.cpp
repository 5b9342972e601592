// SPDX-License-Identifier: Apache-2.0
#include "formats/simgrid_platform.hpp"

#include <algorithm>
#include <initializer_list>

#include <fmt/core.h>
#include <pugixml.hpp>

#include "base/hostlist.hpp"
#include "base/text_lines.hpp"
#include "formats/cable_graph.hpp"
#include "formats/link_routes.hpp"
#include "formats/simgrid_cluster.hpp"
#include "formats/simgrid_units.hpp"

namespace headway {
namespace {

constexpr std::uint32_t zone_depth_max = 32;
constexpr const char* subset_advice = "see headway-formats(5) for what is read";

struct Link {
    CableGraph::Direction direction;
    bool is_split = false;  ///< SPLITDUPLEX: each direction has the bandwidth
    bool up_is_used = false;
    bool down_is_used = false;
};

struct Hop {
    std::uint32_t line = 0;
    std::string id;
    Link* link = nullptr;
    std::optional<bool> is_down;
};

struct Route {
    std::uint32_t line = 0;
    std::string from;
    std::string to;
    bool both_ways = false;
    std::vector<Hop> hops;
};

class PlatformReader {
public:
    PlatformReader(std::string_view text, std::string_view file)
        : text_(text),
          mistakes_(file),
          graph_(mistakes_) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] == '\n') line_ends_.push_back(i);
        }
    }

    FileResult<NetworkTree> read() {
        pugi::xml_document document;
        const auto parsed = document.load_buffer(text_.data(), text_.size(), pugi::parse_default,
                                                 pugi::encoding_utf8);
        if (!parsed) {
            mistakes_.add(line_at(parsed.offset), "syntax", parsed.description(),
                          "write well-formed XML");
            return mistakes_.take();
        }
        const pugi::xml_node platform = document.child("platform");
        if (!platform) {
            mistakes_.add(1, "platform", "there is no <platform>", subset_advice);
            return mistakes_.take();
        }
        const std::string_view version = platform.attribute("version").value();
        if (version != "4" && version != "4.1") {
            mistakes_.add(line_of(platform), "platform", "its version is " + in_quotes(version),
                          "write version=\"4.1\", converting the file with simgrid_update_xml");
        }
        read_zone(platform, 0);
        if (!mistakes_.empty()) return mistakes_.take();
        auto tree = graph_.tree();
        if (tree) return std::move(*tree);
        return mistakes_.take();
    }

private:
    using Names = std::initializer_list<std::string_view>;

    [[nodiscard]] std::uint32_t line_at(std::ptrdiff_t offset) const {
        if (offset < 0) return 0;
        const auto end = std::lower_bound(line_ends_.begin(), line_ends_.end(),
                                          static_cast<std::size_t>(offset));
        return static_cast<std::uint32_t>(end - line_ends_.begin()) + 1;
    }
    [[nodiscard]] std::uint32_t line_of(const pugi::xml_node& node) const {
        return line_at(node.offset_debug());
    }
    void mistake(const pugi::xml_node& node, std::string_view key, std::string reason,
                 const char* advice = subset_advice) {
        mistakes_.add(line_of(node), key, std::move(reason), advice);
    }

    /// Refuses attributes that change what is described and are not read.
    void check_attributes(const pugi::xml_node& node, Names read) {
        for (const pugi::xml_attribute& attribute : node.attributes()) {
            const std::string_view name = attribute.name();
            if (std::find(read.begin(), read.end(), name) != read.end()) continue;
            if (*attribute.value() == '\0') continue;
            mistake(node, node.name(), "its attribute " + in_quotes(name) + " cannot be read");
        }
    }

    std::string required(const pugi::xml_node& node, const char* name) {
        const pugi::xml_attribute attribute = node.attribute(name);
        if (!attribute) {
            mistake(node, node.name(), fmt::format("its attribute \"{}\" is missing", name));
        }
        return attribute.value();
    }

    /// Where one route crosses several links, all routes of the zone are whole ways; else each is a
    /// cable.
    void read_zone(const pugi::xml_node& zone, std::uint32_t depth) {
        std::vector<Route> routes;
        read_children(zone, depth, routes);
        if (std::ranges::all_of(routes,
                                [](const Route& route) { return route.hops.size() == 1; })) {
            for (const Route& route : routes) join(route);
            return;
        }
        LinkRoutes ways(graph_, mistakes_);
        for (const Route& route : routes) {
            std::vector<LinkHop> hops, back;
            for (const Hop& hop : route.hops) {
                hops.push_back({hop.id, hop.link->is_split, hop.is_down, hop.link->direction});
            }
            for (auto hop = hops.rbegin(); hop != hops.rend(); ++hop)
                back.push_back(hop->reversed());
            ways.add(route.line, route.from, route.to, std::move(hops));
            if (route.both_ways) ways.add(route.line, route.to, route.from, std::move(back));
        }
        if (mistakes_.empty()) ways.add_cables();
    }

    void read_children(const pugi::xml_node& parent, std::uint32_t depth,
                       std::vector<Route>& routes) {
        for (const pugi::xml_node& node : parent.children()) {
            if (node.type() != pugi::node_element || mistakes_.full()) continue;
            const std::string_view name = node.name();
            if (name == "zone" || name == "AS") {
                if (depth >= zone_depth_max) {
                    mistake(node, name, "zones are nested too deeply");
                    return;
                }
                check_attributes(node, {"id", "routing"});
                read_zone(node, depth + 1);
            } else if (name == "host") {
                check_attributes(node, {"id", "speed", "core", "pstate", "coordinates"});
                graph_.add_point(line_of(node), NetworkNodeKind::host, required(node, "id"));
            } else if (name == "router") {
                check_attributes(node, {"id", "coordinates"});
                graph_.add_point(line_of(node), NetworkNodeKind::switch_node, required(node, "id"));
            } else if (name == "cluster") {
                read_cluster(node);
            } else if (name == "link") {
                read_link(node);
            } else if (name == "route") {
                read_route(node, "src", "dst", routes);
            } else if (name == "zoneRoute" || name == "ASroute") {
                read_route(node, "gw_src", "gw_dst", routes);
            } else if (name != "config" && name != "prop") {
                mistake(node, in_quotes(name), "such elements cannot be read");
            }
        }
    }

    /// Nothing, having told so, if it is wrong.
    std::optional<CableGraph::Direction> read_direction(const pugi::xml_node& node,
                                                        const char* bandwidth,
                                                        const char* latency) {
        const auto rate = parse_simgrid_bandwidth(required(node, bandwidth));
        if (!rate) mistake(node, bandwidth, rate.error().message, "write such as 125MBps or 1Gbps");
        const auto delay = parse_simgrid_latency(node.attribute(latency).as_string("0"));
        if (!delay) mistake(node, latency, delay.error().message, "write such as 50us");
        if (!rate || !delay) return std::nullopt;
        return CableGraph::Direction{*rate, *delay};
    }

    /// SPLITDUPLEX or its older name.
    static bool is_split(std::string_view policy) {
        return policy == "SPLITDUPLEX" || policy == "FULLDUPLEX";
    }

    void read_link(const pugi::xml_node& node) {
        check_attributes(node, {"id", "bandwidth", "latency", "sharing_policy"});
        const std::string id = required(node, "id");
        const std::string_view policy = node.attribute("sharing_policy").as_string("SHARED");
        const auto direction = read_direction(node, "bandwidth", "latency");
        if (!is_split(policy) && policy != "SHARED") {
            mistake(node, "sharing_policy", in_quotes(policy) + " cannot be read",
                    "write SPLITDUPLEX: each direction has the bandwidth");
        }
        // A wrong link stays known, so that its routes are no mistakes, too.
        const bool is_new =
            links_.emplace(id, Link{direction.value_or(CableGraph::Direction{}), is_split(policy)})
                .second;
        if (!is_new) {
            mistake(node, "link", fmt::format("link {} is described twice", in_quotes(id)),
                    "give every link its own id");
        }
    }

    void read_route(const pugi::xml_node& node, const char* source, const char* destination,
                    std::vector<Route>& routes) {
        check_attributes(node, {"src", "dst", "gw_src", "gw_dst", "symmetrical"});
        const std::string_view symmetrical = node.attribute("symmetrical").as_string("YES");
        Route route{line_of(node),
                    required(node, source),
                    required(node, destination),
                    symmetrical == "YES" || symmetrical == "yes",
                    {}};
        for (const pugi::xml_node& child : node.children()) {
            if (child.type() != pugi::node_element) continue;
            if (std::string_view(child.name()) != "link_ctn") {
                mistake(child, in_quotes(child.name()), "such elements cannot be read");
                return;
            }
            std::string id = required(child, "id");
            const auto found = links_.find(id);
            if (found == links_.end()) {
                mistake(child, "link_ctn",
                        fmt::format("there is no link {} before it", in_quotes(id)),
                        "describe the link first");
                return;
            }
            const std::string_view direction = child.attribute("direction").value();
            Hop hop{line_of(child), std::move(id), &found->second, {}};
            if (found->second.is_split && (direction == "UP" || direction == "DOWN"))
                hop.is_down = direction == "DOWN";
            route.hops.push_back(std::move(hop));
        }
        if (route.hops.empty()) {
            mistake(node, node.name(),
                    fmt::format("from {} to {} it crosses no link", in_quotes(route.from),
                                in_quotes(route.to)),
                    "write <link_ctn> for each link that it crosses");
            return;
        }
        routes.push_back(std::move(route));
    }

    /// A route of one hop is a cable.
    void join(const Route& route) {
        const Hop& hop = route.hops.front();
        Link& link = *hop.link;
        if (route.both_ways && !link.is_split) {
            mistakes_.add(
                hop.line, "link_ctn", "both directions would share one SHARED link",
                "give the link sharing_policy=\"SPLITDUPLEX\", or each direction its own link "
                "and route with symmetrical=\"NO\"");
            return;
        }
        const bool is_down = hop.is_down.value_or(false);
        bool& forth = is_down ? link.down_is_used : link.up_is_used;
        bool& back = is_down ? link.up_is_used : link.down_is_used;
        if (forth || (route.both_ways && back)) {
            mistakes_.add(hop.line, "link_ctn", "several routes share this direction of the link",
                          "give every cable a link of its own, and join cables by routers");
            return;
        }
        forth = true;
        graph_.add_direction(hop.line, route.from, route.to, link.direction);
        if (!route.both_ways) return;
        back = true;
        graph_.add_direction(hop.line, route.to, route.from, link.direction);
    }

    void read_cluster(const pugi::xml_node& node) {
        check_attributes(node, {"id", "prefix", "suffix", "radical", "speed", "core", "bw", "lat",
                                "sharing_policy", "topology", "topo_parameters", "bb_bw", "bb_lat",
                                "bb_sharing_policy", "router_id", "loopback_bw", "loopback_lat"});
        const std::string radical = required(node, "radical");
        const std::string_view topology = node.attribute("topology").as_string("FLAT");
        if (topology != "FLAT" && topology != "FAT_TREE")
            mistake(node, "topology", in_quotes(topology) + " is no tree");
        const std::string_view policy = node.attribute("sharing_policy").as_string("SPLITDUPLEX");
        if (!is_split(policy)) {
            mistake(node, "sharing_policy", in_quotes(policy) + " cannot be read",
                    "write SPLITDUPLEX: each direction has the bandwidth");
        }
        SimgridCluster cluster{line_of(node),
                               required(node, "id"),
                               required(node, "prefix"),
                               required(node, "suffix"),
                               node.attribute("router_id").value(),
                               {},
                               {}};
        const auto direction = read_direction(node, "bw", "lat");
        auto numbers = parse_hostlist(fmt::format("n[{}]", radical));
        if (!numbers) {
            mistake(node, "radical", in_quotes(radical) + " is no list of numbers",
                    "write such as 0-7,9");
        }
        if (!direction || !numbers) return;
        cluster.edge = *direction;
        for (const std::string& number : *numbers) {
            cluster.hosts.push_back(cluster.prefix + number.substr(1) + cluster.suffix);
        }
        if (topology == "FAT_TREE") read_fat_tree(node, cluster);
        else read_flat(node, cluster);
    }

    /// A backbone is a link that all messages of the hosts cross, which no tree has: it is read
    /// where it limits none.
    void read_flat(const pugi::xml_node& node, const SimgridCluster& cluster) {
        CableGraph::Direction backbone{rate_max, {}};
        if (node.attribute("bb_bw")) {
            const auto read = read_direction(node, "bb_bw", "bb_lat");
            if (!read) return;
            backbone = *read;
            const bool is_fatpipe =
                std::string_view(node.attribute("bb_sharing_policy").value()) == "FATPIPE";
            const std::uint64_t crossing = is_fatpipe ? 1 : 2 * cluster.hosts.size();
            if (backbone.rate.value / crossing < cluster.edge.rate.value) {
                mistake(node, "bb_bw",
                        fmt::format("a backbone of {} can limit {} hosts of {}, and no tree has a "
                                    "link that all share",
                                    rate_to_tc(backbone.rate), cluster.hosts.size(),
                                    rate_to_tc(cluster.edge.rate)),
                        "describe a router, and the link above it that is short");
                return;
            }
        }
        add_flat(graph_, cluster, backbone.delay);
    }

    void read_fat_tree(const pugi::xml_node& node, const SimgridCluster& cluster) {
        const auto levels =
            fat_tree_levels(node.attribute("topo_parameters").value(), cluster.hosts.size());
        if (levels) add_fat_tree(graph_, cluster, *levels);
        else mistake(node, "topo_parameters", levels.error().message);
    }

    std::string_view text_;
    FileMistakes mistakes_;
    CableGraph graph_;
    std::vector<std::size_t> line_ends_;
    std::unordered_map<std::string, Link> links_;
};

}  // namespace

FileResult<NetworkTree> read_simgrid_platform(std::string_view text, std::string_view file) {
    return PlatformReader(text, file).read();
}

}  // namespace headway

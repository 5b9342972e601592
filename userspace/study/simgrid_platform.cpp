// SPDX-License-Identifier: Apache-2.0
#include "study/simgrid_platform.hpp"

#include <algorithm>
#include <initializer_list>

#include <fmt/core.h>
#include <pugixml.hpp>

#include "base/hostlist.hpp"
#include "base/text_lines.hpp"
#include "study/cable_graph.hpp"
#include "study/simgrid_units.hpp"

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

class PlatformReader {
public:
    PlatformReader(std::string_view text, std::string_view file)
        : text_(text), mistakes_(file), graph_(mistakes_) {
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
        read_children(platform, 0);
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

    void read_children(const pugi::xml_node& parent, std::uint32_t depth) {
        for (const pugi::xml_node& node : parent.children()) {
            if (node.type() != pugi::node_element || mistakes_.full()) continue;
            const std::string_view name = node.name();
            if (name == "zone" || name == "AS") {
                if (depth >= zone_depth_max) {
                    mistake(node, name, "zones are nested too deeply");
                    return;
                }
                check_attributes(node, {"id", "routing"});
                read_children(node, depth + 1);
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
                read_route(node, "src", "dst");
            } else if (name == "zoneRoute" || name == "ASroute") {
                read_route(node, "gw_src", "gw_dst");
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

    void read_route(const pugi::xml_node& node, const char* source, const char* destination) {
        check_attributes(node, {"src", "dst", "gw_src", "gw_dst", "symmetrical"});
        const std::string from = required(node, source);
        const std::string to = required(node, destination);
        std::vector<pugi::xml_node> hops;
        for (const pugi::xml_node& child : node.children()) {
            if (child.type() == pugi::node_element) hops.push_back(child);
        }
        if (hops.size() != 1 || std::string_view(hops.front().name()) != "link_ctn") {
            mistake(node, node.name(),
                    fmt::format("from {} to {} it has not exactly one <link_ctn>", in_quotes(from),
                                in_quotes(to)),
                    "write one route for every cable, between routers where needed");
            return;
        }
        const std::string id = required(hops.front(), "id");
        const auto found = links_.find(id);
        if (found == links_.end()) {
            mistake(hops.front(), "link_ctn", fmt::format("there is no link {} before it",
                                                          in_quotes(id)),
                    "describe the link first");
            return;
        }
        const std::string_view symmetrical = node.attribute("symmetrical").as_string("YES");
        const bool both_ways = symmetrical == "YES" || symmetrical == "yes";
        join(hops.front(), found->second, from, to, both_ways);
    }

    void join(const pugi::xml_node& hop, Link& link, const std::string& from, const std::string& to,
              bool both_ways) {
        if (both_ways && !link.is_split) {
            mistake(hop, "link_ctn", "both directions would share one SHARED link",
                    "give the link sharing_policy=\"SPLITDUPLEX\", or each direction its own link "
                    "and route with symmetrical=\"NO\"");
            return;
        }
        const bool is_down =
            link.is_split && std::string_view(hop.attribute("direction").value()) == "DOWN";
        bool& forth = is_down ? link.down_is_used : link.up_is_used;
        bool& back = is_down ? link.up_is_used : link.down_is_used;
        if (forth || (both_ways && back)) {
            mistake(hop, "link_ctn", "several routes share this direction of the link",
                    "give every cable a link of its own, and join cables by routers");
            return;
        }
        forth = true;
        graph_.add_direction(line_of(hop), from, to, link.direction);
        if (!both_ways) return;
        back = true;
        graph_.add_direction(line_of(hop), to, from, link.direction);
    }

    void read_cluster(const pugi::xml_node& node) {
        check_attributes(node, {"id", "prefix", "suffix", "radical", "speed", "core", "bw", "lat",
                                "sharing_policy", "topology", "bb_lat", "bb_sharing_policy",
                                "router_id", "loopback_bw", "loopback_lat"});
        const std::string id = required(node, "id");
        const std::string prefix = required(node, "prefix");
        const std::string suffix = required(node, "suffix");
        const std::string radical = required(node, "radical");
        const std::string_view topology = node.attribute("topology").as_string("FLAT");
        if (topology != "FLAT") mistake(node, "topology", in_quotes(topology) + " cannot be read");
        const std::string_view policy = node.attribute("sharing_policy").as_string("SPLITDUPLEX");
        if (!is_split(policy)) {
            mistake(node, "sharing_policy", in_quotes(policy) + " cannot be read",
                    "write SPLITDUPLEX: each direction has the bandwidth");
        }
        const auto direction = read_direction(node, "bw", "lat");
        const auto numbers = parse_hostlist(fmt::format("n[{}]", radical));
        if (!numbers) {
            mistake(node, "radical", in_quotes(radical) + " is no list of numbers",
                    "write such as 0-7,9");
        }
        if (!direction || !numbers) return;
        std::string router = node.attribute("router_id").value();
        if (router.empty()) router = fmt::format("{}{}_router{}", prefix, id, suffix);
        graph_.add_point(line_of(node), NetworkNodeKind::switch_node, router);
        for (const std::string& number : *numbers) {
            if (mistakes_.full()) return;
            const std::string host = prefix + number.substr(1) + suffix;
            graph_.add_point(line_of(node), NetworkNodeKind::host, host);
            graph_.add_direction(line_of(node), host, router, *direction);
            graph_.add_direction(line_of(node), router, host, *direction);
        }
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

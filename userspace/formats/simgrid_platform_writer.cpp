// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include <fmt/core.h>

#include "base/units.hpp"
#include "formats/simgrid_platform.hpp"
#include "formats/simgrid_units.hpp"

namespace headway {
namespace {

using Node = NetworkTree::Node;

// SimGrid wants to know how fast hosts compute; the network does not tell.
constexpr const char* host_speed = "1Gf";

bool is_symmetric(const NetworkEdge& edge) { return edge.up_rate == edge.down_rate; }

void write_link(std::string& text, const std::string& id, BitsPerSecond rate,
                const NetworkEdge& edge, const char* policy) {
    fmt::format_to(std::back_inserter(text),
                   "    <link id=\"{}\" bandwidth=\"{}\" latency=\"{}\" sharing_policy=\"{}\"/>\n",
                   id, simgrid_bandwidth(rate), duration_to_text(edge.delay), policy);
}

void write_links(std::string& text, const NetworkTree& tree, Node node) {
    const NetworkEdge& edge = tree.edge(node);
    const std::string& name = tree.name(node);
    if (is_symmetric(edge)) {
        write_link(text, "link-" + name, edge.up_rate, edge, "SPLITDUPLEX");
        return;
    }
    write_link(text, "up-" + name, edge.up_rate, edge, "SHARED");
    write_link(text, "down-" + name, edge.down_rate, edge, "SHARED");
}

void write_routes(std::string& text, const NetworkTree& tree, Node node) {
    const std::string& name = tree.name(node);
    const std::string& above = tree.name(tree.parent(node));
    const auto out = std::back_inserter(text);
    if (is_symmetric(tree.edge(node))) {
        fmt::format_to(out,
                       "    <route src=\"{0}\" dst=\"{1}\"><link_ctn id=\"link-{0}\" "
                       "direction=\"UP\"/></route>\n",
                       name, above);
        return;
    }
    fmt::format_to(out,
                   "    <route src=\"{0}\" dst=\"{1}\" symmetrical=\"NO\"><link_ctn id=\"up-{0}\"/>"
                   "</route>\n    <route src=\"{1}\" dst=\"{0}\" symmetrical=\"NO\"><link_ctn "
                   "id=\"down-{0}\"/></route>\n",
                   name, above);
}

}  // namespace

Result<WrittenTopology> write_simgrid_platform(const NetworkTree& tree) {
    WrittenTopology written;
    std::string& text = written.text;
    text = "<?xml version='1.0'?>\n"
           "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
           "<platform version=\"4.1\">\n"
           "  <zone id=\"network\" routing=\"Dijkstra\">\n";
    for (Node node = 0; node < tree.size(); ++node) {
        if (tree.is_host(node)) {
            fmt::format_to(std::back_inserter(text), "    <host id=\"{}\" speed=\"{}\"/>\n",
                           tree.name(node), host_speed);
        } else if (tree.find_host(tree.name(node))) {
            return failure("\"{}\" is the name of a switch and of a host, but SimGrid has one name "
                           "space",
                           tree.name(node));
        } else {
            fmt::format_to(std::back_inserter(text), "    <router id=\"{}\"/>\n", tree.name(node));
        }
    }
    for (Node node = 1; node < tree.size(); ++node) write_links(text, tree, node);
    for (Node node = 1; node < tree.size(); ++node) write_routes(text, tree, node);
    text += "  </zone>\n</platform>\n";
    note_losses(tree, "a SimGrid platform", DelaysAre::said, written);
    return written;
}

}  // namespace headway

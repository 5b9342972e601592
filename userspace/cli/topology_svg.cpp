// SPDX-License-Identifier: Apache-2.0
// The layout: every node gets the width of its texts or of its children side by
// side, whichever is more, and stands in the middle of it.
#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "cli/topology_drawing.hpp"

namespace headway {
namespace {

// Pixels.  The font is one of fixed width, so that texts can be measured.
constexpr double letter_px = 7.3;
constexpr double box_padding_px = 10;
constexpr double gap_px = 24;
constexpr double box_height_px = 30;
constexpr double level_px = 110;
constexpr double margin_px = 20;

struct DrawnPlace {
    double width = 0;
    double children_width = 0;
    double left = 0;
    double next_child = 0;
    [[nodiscard]] double middle() const { return left + width / 2; }
};

double text_px(const std::string& text) { return letter_px * static_cast<double>(text.size()); }

std::vector<DrawnPlace> lay_out(const std::vector<DrawnNode>& nodes) {
    std::vector<DrawnPlace> places(nodes.size());
    for (std::size_t i = nodes.size(); i-- > 0;) {
        const double box = text_px(nodes[i].label) + 2 * box_padding_px;
        places[i].width = std::max({box, text_px(nodes[i].link_label), places[i].children_width});
        if (i == 0) continue;
        DrawnPlace& parent = places[nodes[i].parent];
        parent.children_width += places[i].width + (parent.children_width > 0 ? gap_px : 0);
    }
    places[0].left = margin_px;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (i > 0) {
            DrawnPlace& parent = places[nodes[i].parent];
            places[i].left = parent.next_child;
            parent.next_child += places[i].width + gap_px;
        }
        places[i].next_child =
            places[i].left + (places[i].width - places[i].children_width) / 2;
    }
    return places;
}

double top_of(const DrawnNode& node) {
    return margin_px + level_px * static_cast<double>(node.depth);
}

std::string xml_text(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        switch (c) {
            case '&': escaped += "&amp;"; break;
            case '<': escaped += "&lt;"; break;
            case '>': escaped += "&gt;"; break;
            default: escaped += c;
        }
    }
    return escaped;
}

void write_link(std::string& text, const DrawnNode& node, const DrawnPlace& own, const DrawnPlace& parent) {
    const double top = top_of(node);
    fmt::format_to(std::back_inserter(text),
                   "  <path class=\"{}\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}V{:.1f}\"/>\n"
                   "  <text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n",
                   node.is_limiting ? "link limiting" : "link", parent.middle(),
                   top - level_px + box_height_px, top - level_px / 2, own.middle(), top,
                   own.middle(), top - 10, node.is_limiting ? "limit-text" : "link-text",
                   xml_text(node.link_label));
}

void write_box(std::string& text, const DrawnNode& node, const DrawnPlace& place) {
    const double width = text_px(node.label) + 2 * box_padding_px;
    const double top = top_of(node);
    fmt::format_to(std::back_inserter(text),
                   "  <rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                   "rx=\"{}\" class=\"{}\"/>\n"
                   "  <text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                   place.middle() - width / 2, top, width, box_height_px, node.is_hosts ? 12 : 2,
                   node.is_hosts ? "hosts" : "switch", place.middle(), top + 20,
                   xml_text(node.label));
}

constexpr const char* style =
    "  <style>\n"
    "    text { font: 12px monospace; text-anchor: middle; fill: #222; stroke: #fff; "
    "stroke-width: 4px; paint-order: stroke; }\n"
    "    .limit-text { fill: #b00020; font-weight: bold; }\n"
    "    .caption { text-anchor: start; }\n"
    "    .switch { fill: #dfe8f2; stroke: #456; }\n"
    "    .hosts { fill: #f4f4f0; stroke: #666; }\n"
    "    .link { fill: none; stroke: #888; stroke-width: 1.5; }\n"
    "    .limiting { stroke: #b00020; stroke-width: 4; }\n"
    "  </style>\n";

}  // namespace

std::string drawing_svg(const Drawing& drawing) {
    const auto& nodes = drawing.nodes;
    const auto places = lay_out(nodes);
    std::size_t depth = 0;
    for (const DrawnNode& node : nodes) depth = std::max(depth, node.depth);
    const double width =
        std::max(places[0].width, text_px(drawing.caption)) + 2 * margin_px;
    const double caption = 2 * margin_px + level_px * static_cast<double>(depth) + box_height_px + 14;
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n  <title>{2}</title>\n{3}"
        "  <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        width, caption + margin_px, xml_text(drawing.caption), style);
    // Limiting links last, on top of the others; boxes over all links.
    for (const bool limiting : {false, true}) {
        for (std::size_t i = 1; i < nodes.size(); ++i) {
            if (nodes[i].is_limiting != limiting) continue;
            write_link(text, nodes[i], places[i], places[nodes[i].parent]);
        }
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) write_box(text, nodes[i], places[i]);
    fmt::format_to(std::back_inserter(text),
                   "  <text x=\"{:.1f}\" y=\"{:.1f}\" class=\"caption\">{}</text>\n</svg>\n",
                   margin_px, caption, xml_text(drawing.caption));
    return text;
}

}  // namespace headway

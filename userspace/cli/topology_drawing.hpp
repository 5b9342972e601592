// SPDX-License-Identifier: Apache-2.0
// Pictures of a network: the root on top, neighbouring hosts with links alike as
// one box, the links that limit an all-to-all of all hosts thick and red, and
// said so in words.
#pragma once

#include <string>
#include <vector>

#include "network/network_tree.hpp"

namespace headway {

/// A switch, or hosts that are drawn as one.
struct DrawnNode {
    std::string label;
    std::string link_label;  ///< of the link to the parent; empty for the root
    bool is_hosts = false;
    bool is_limiting = false;
    std::size_t parent = 0;  ///< comes before; of the root: itself
    std::size_t depth = 0;
};

struct Drawing {
    std::vector<DrawnNode> nodes;
    std::string caption;
};

[[nodiscard]] Drawing draw_network(const NetworkTree& tree);

/// A sentence on where a cable's delay stands, with a blank before; empty: there is no such cable.
[[nodiscard]] std::string cable_text(const NetworkTree& tree);

/// For Graphviz's dot.
[[nodiscard]] std::string drawing_dot(const Drawing& drawing);

/// An SVG image, by an own layout.
[[nodiscard]] std::string drawing_svg(const Drawing& drawing);

}  // namespace headway

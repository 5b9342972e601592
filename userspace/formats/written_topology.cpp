// SPDX-License-Identifier: Apache-2.0
#include "formats/written_topology.hpp"

#include <fmt/core.h>

namespace headway {

void note_losses(const NetworkTree& tree, std::string_view format, DelaysAre delays,
                 WrittenTopology& written) {
    bool has_delay = false;
    bool has_buffer = false;
    bool has_cluster = false;
    bool has_links = false;
    for (NetworkTree::Node node = 1; node < tree.size(); ++node) {
        const NetworkEdge& edge = tree.edge(node);
        has_delay |= edge.delay.count() != 0;
        has_buffer |= edge.up_buffer_bytes || edge.down_buffer_bytes;
        has_cluster |= tree.item(node).is_cluster;
        has_links |= edge.links.are_hashed();
    }
    const auto lose = [&](const char* what) {
        written.losses.push_back(fmt::format("{} cannot be said in {}", what, format));
    };
    if (has_delay && delays == DelaysAre::lost) lose("delays");
    if (has_buffer) lose("buffers");
    if (has_cluster) lose("address prefixes of clusters");
    if (has_links) lose("all but one of several parallel links");
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "formats/topology_json.hpp"

#include "models/network_alltoall.hpp"

namespace headway {
namespace {

using Json = nlohmann::json;

Json optional_json(const std::optional<std::uint64_t>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json node_json(const NetworkTree& tree, NetworkTree::Node node, const AlltoallLimits& limits) {
    const NetworkItem& item = tree.item(node);
    Json json{{"name", item.name}, {"kind", tree.is_host(node) ? "host" : "switch"}};
    if (item.is_cluster) {
        json["prefixes"] = Json::array();
        for (const IpPrefix& prefix : item.prefixes) json["prefixes"].push_back(prefix.to_string());
    }
    if (node == NetworkTree::root) {
        json["parent"] = nullptr;
        return json;
    }
    json["parent"] = item.parent;
    json["link"] = {{"up_bit_per_s", item.edge.up_rate.value},
                    {"down_bit_per_s", item.edge.down_rate.value},
                    {"links", item.edge.links.count},
                    {"hash", item.edge.links.are_hashed() ? Json(hash_name(item.edge.links.hash)) : Json(nullptr)},
                    {"delay_ns", item.edge.delay.count()},
                    {"up_buffer_bytes", optional_json(item.edge.up_buffer_bytes)},
                    {"down_buffer_bytes", optional_json(item.edge.down_buffer_bytes)},
                    {"up_limits", static_cast<bool>(limits.up_limits[node])},
                    {"down_limits", static_cast<bool>(limits.down_limits[node])}};
    return json;
}

}  // namespace

Json network_json(const NetworkTree& tree) {
    const AlltoallLimits limits = alltoall_limits(tree);
    Json json{{"hosts", tree.host_count()},
              {"switches", tree.switch_count()},
              {"alltoall_pair_bit_per_s",
               limits.pair_rate_bps > 0 ? Json(limits.pair_rate_bps) : Json(nullptr)},
              {"nodes", Json::array()}};
    for (NetworkTree::Node node = 0; node < tree.size(); ++node) {
        json["nodes"].push_back(node_json(tree, node, limits));
    }
    return json;
}

}  // namespace headway

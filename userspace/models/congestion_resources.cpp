// SPDX-License-Identifier: Apache-2.0
#include "models/congestion_resources.hpp"

#include <algorithm>
#include <cmath>

namespace headway {
namespace {

/// Factors of cables and of NICs are compared for equality: 10 links on a
/// backbone of 10 NICs are as congested as one on a NIC.
double snap_to_whole(double factor) {
    const double whole = std::round(factor);
    return std::abs(factor - whole) <= CongestionResources::tolerance * factor ? whole : factor;
}

std::uint32_t rack_count(const std::vector<std::uint32_t>& rack_of_node) {
    return rack_of_node.empty() ? 0 : 1 + *std::max_element(rack_of_node.begin(),
                                                            rack_of_node.end());
}

}  // namespace

CongestionResources::CongestionResources(const CongestionPattern& pattern)
    : rack_of_node_(pattern.rack_of_node),
      nic_(pattern.nic_bandwidth),
      backbone_(pattern.backbone_bandwidth),
      first_rack_(static_cast<Id>(2 * rack_of_node_.size())),
      users_(first_rack_ + 2 * rack_count(rack_of_node_)),
      factor_(users_.size()) {
    for (const CongestionLink& link : pattern.links) {
        for (const Id id : with_flow(link)) {
            if (id != none) ++users_[id];
        }
    }
    for (Id id = 0; id < count(); ++id) {
        factor_[id] = snap_to_whole(users_[id] * (nic_ / capacity(id)));
    }
}

CongestionResources::Set CongestionResources::with_flow(const CongestionLink& link) const {
    const std::uint32_t from = rack_of_node_[link.source];
    const std::uint32_t to = rack_of_node_[link.destination];
    const bool crosses = from != to;
    return {crosses ? rack_out(from) : none, nic_out(link.source),
            reverse(nic_out(link.destination)), crosses ? reverse(rack_out(to)) : none};
}

CongestionResources::Set CongestionResources::contra_flow(const CongestionLink& link) const {
    Set set = with_flow(link);
    for (Id& id : set) id = reverse(id);
    return set;
}

}  // namespace headway

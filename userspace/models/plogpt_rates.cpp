// SPDX-License-Identifier: Apache-2.0
#include "models/plogpt_rates.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace headway {
namespace {

enum class Direction : std::uint64_t { up, down };

/// One number for a directed edge: direction, height, and which of that height.
std::uint64_t edge_key(Direction direction, unsigned h, std::uint32_t leaf) {
    return static_cast<std::uint64_t>(direction) << 40 | std::uint64_t{h} << 32 | leaf >> (h - 1);
}

template <class Visit>
void for_each_edge(const PlogptFlow& flow, Visit visit) {
    const unsigned top = PlogptTree::height_of(flow.source, flow.destination);
    for (unsigned h = 1; h <= top; ++h) {
        visit(h, edge_key(Direction::up, h, flow.source));
        visit(h, edge_key(Direction::down, h, flow.destination));
    }
}

}  // namespace

Result<std::vector<double>> plogpt_rates(const PlogptTree& tree,
                                         std::span<const PlogptFlow> flows) {
    std::unordered_map<std::uint64_t, std::uint32_t> count;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        if (std::max(flows[i].source, flows[i].destination) >= tree.leaves()) {
            return failure("flow {}: {} -> {} in a tree of {} leaves", i, flows[i].source,
                           flows[i].destination, tree.leaves());
        }
        for_each_edge(flows[i], [&](unsigned, std::uint64_t edge) { ++count[edge]; });
    }
    std::vector<double> rates(flows.size(), std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < flows.size(); ++i) {
        for_each_edge(flows[i], [&](unsigned h, std::uint64_t edge) {
            rates[i] = std::min(rates[i], tree.bandwidth(h) / count[edge]);
        });
    }
    return rates;
}

}  // namespace headway

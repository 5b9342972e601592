// SPDX-License-Identifier: Apache-2.0
#include "measure/tree_heights.hpp"

#include <algorithm>
#include <utility>

namespace headway {
namespace {

using Leaves = std::vector<std::size_t>;

/// Joins the two smallest subtrees until one is left.
Result<Leaves> leaves_below(const HostTree& tree, std::size_t node) {
    if (tree.is_host(node)) return Leaves{node};
    std::vector<Leaves> subtrees;
    for (const std::size_t child : tree.children(node)) {
        auto leaves = leaves_below(tree, child);
        if (!leaves) return leaves;
        subtrees.push_back(std::move(*leaves));
    }
    const std::size_t hosts = tree.hosts_below(node).size();
    while (subtrees.size() > 1) {
        std::ranges::sort(subtrees, {}, [](const Leaves& leaves) { return std::pair(leaves.size(), leaves.front()); });
        Leaves &first = subtrees[0], &second = subtrees[1];
        if (first.size() != second.size())
            return failure("the {} hosts at a switch cannot be divided into halves again and again", hosts);
        first.insert(first.end(), second.begin(), second.end());
        subtrees.erase(subtrees.begin() + 1);
    }
    return std::move(subtrees.front());
}

}  // namespace

Result<std::vector<std::size_t>> binary_leaf_order(const HostTree& tree) { return leaves_below(tree, tree.root()); }

std::vector<Flow> burst_of_height(const std::vector<std::size_t>& leaf_order, unsigned h) {
    const std::size_t pairs = std::size_t{1} << (h - 1);
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < pairs; ++i) flows.push_back({leaf_order[i], leaf_order[i + pairs]});
    return flows;
}

std::vector<DirectedLink> top_links(const HostTree& tree, const Flow& flow) {
    const auto path = tree.path(flow);
    const auto down = std::ranges::find(path, false, &DirectedLink::is_up);
    std::vector<DirectedLink> links;
    if (down != path.begin() && !tree.is_host((down - 1)->node)) links.push_back(*(down - 1));
    if (down != path.end()) links.push_back(*down);
    return links;
}

}  // namespace headway

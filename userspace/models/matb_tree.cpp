// SPDX-License-Identifier: Apache-2.0
// The tree of matb.hpp.
#include <algorithm>

#include "models/matb.hpp"

namespace headway {
namespace {

using EdgesBelow = std::unordered_map<std::string_view, std::vector<const MatbEdge*>>;

/// The only node that is a parent and no child.
Result<std::string> find_root(const std::vector<MatbEdge>& edges) {
    std::unordered_map<std::string_view, bool> is_child;
    for (const MatbEdge& edge : edges) {
        if (!(edge.up_bps > 0) || !(edge.down_bps > 0)) {
            return failure("the edge above {} has a capacity that is not positive", edge.child);
        }
        is_child.try_emplace(edge.parent, false);
        bool& child = is_child[edge.child];
        if (child) return failure("{} has two parents", edge.child);
        child = true;
    }
    std::string root;
    std::size_t roots = 0;
    for (const MatbEdge& edge : edges) {
        bool& child = is_child[edge.parent];
        if (child) continue;
        child = true;  // counts once
        root = edge.parent;
        ++roots;
    }
    if (roots != 1) return failure("the edges are no tree: it has {} roots", roots);
    return root;
}

}  // namespace

Result<MatbTree> MatbTree::make(const std::vector<MatbEdge>& edges) {
    if (edges.size() >= UINT32_MAX) return failure("{} edges are too many", edges.size());
    auto root_name = find_root(edges);
    if (!root_name) return tl::unexpected(root_name.error());
    EdgesBelow below;
    for (const MatbEdge& edge : edges) below[edge.parent].push_back(&edge);

    MatbTree tree;
    tree.add(*root_name, root, nullptr);
    for (Node node = 0; node < tree.size(); ++node) {  // grows on the way
        const auto found = below.find(tree.names_[node]);
        if (found == below.end()) continue;
        if (tree.depth_[node] == depth_max) return failure("the tree is deeper than {}", depth_max);
        for (const MatbEdge* edge : found->second) tree.add(edge->child, node, edge);
    }
    if (tree.size() != edges.size() + 1) return failure("the edges are no tree: some form a ring");
    tree.find_hosts();
    return tree;
}

void MatbTree::add(std::string name, Node parent, const MatbEdge* edge) {
    const auto node = static_cast<Node>(names_.size());
    by_name_.emplace(name, node);
    names_.push_back(std::move(name));
    parent_.push_back(parent);
    depth_.push_back(edge == nullptr ? 0 : depth_[parent] + 1);
    up_bps_.push_back(edge == nullptr ? matb_no_limit : edge->up_bps);
    down_bps_.push_back(edge == nullptr ? matb_no_limit : edge->down_bps);
}

void MatbTree::find_hosts() {
    is_host_.assign(size(), true);
    for (Node node = 1; node < size(); ++node) is_host_[parent_[node]] = false;
}

std::optional<MatbTree::Node> MatbTree::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
}

}  // namespace headway

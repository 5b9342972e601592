// SPDX-License-Identifier: Apache-2.0
#include "network/network_tree.hpp"

namespace headway {

Result<NetworkTree> NetworkTree::make(std::vector<NetworkItem> items) {
    const auto mistakes = find_mistakes(items);
    if (!mistakes.empty()) return failure("{}", mistakes.front().message);
    NetworkTree tree;
    tree.items_ = in_tree_order(items);
    tree.number();
    return tree;
}

void NetworkTree::number() {
    parent_.assign(size(), root);
    depth_.assign(size(), 0);
    children_.assign(size(), {});
    hosts_below_.assign(size(), 0);
    for (Node node = 0; node < size(); ++node) {
        if (is_host(node)) hosts_.add(name(node), node);
        else switches_.emplace(name(node), node);
        if (node == root) continue;
        parent_[node] = switches_.find(items_[node].parent)->second;
        depth_[node] = depth_[parent_[node]] + 1;
        children_[parent_[node]].push_back(node);
    }
    for (Node node = static_cast<Node>(size()); node-- > 0;) {
        if (is_host(node)) hosts_below_[node] = 1;
        if (node != root) hosts_below_[parent_[node]] += hosts_below_[node];
    }
}

std::optional<NetworkTree::Node> NetworkTree::find_host(std::string_view name) const {
    const auto found = hosts_.find(name);
    return found ? std::optional(static_cast<Node>(*found)) : std::nullopt;
}

std::optional<NetworkTree::Node> NetworkTree::find_switch(std::string_view name) const {
    const auto found = switches_.find(name);
    return found == switches_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "measure/host_tree.hpp"

#include <algorithm>
#include <utility>

namespace headway {

HostTree::HostTree(std::size_t hosts) : hosts_(hosts), root_(hosts), parent_(hosts + 1, hosts) {}

std::vector<std::size_t> HostTree::children(std::size_t node) const {
    std::vector<std::size_t> list;
    for (std::size_t child = 0; child < size(); ++child) {
        if (child != root_ && parent_[child] == node) list.push_back(child);
    }
    return list;
}

std::vector<std::size_t> HostTree::hosts_below(std::size_t node) const {
    std::vector<std::size_t> list;
    for (std::size_t host = 0; host < hosts_; ++host) {
        std::size_t above = host;
        while (above != node && above != root_) above = parent_[above];
        if (above == node) list.push_back(host);
    }
    return list;
}

std::vector<std::size_t> HostTree::hosts_at(std::size_t node) const {
    auto list = children(node);
    std::erase_if(list, [&](std::size_t child) { return !is_host(child); });
    return list;
}

std::vector<std::size_t> HostTree::switches() const {
    std::vector<std::size_t> list;
    for (std::size_t node = hosts_; node < size(); ++node) list.push_back(node);
    return list;
}

std::vector<std::size_t> HostTree::trunks() const {
    auto list = switches();
    std::erase(list, root_);
    return list;
}

std::vector<DirectedLink> HostTree::path(const Flow& flow) const {
    std::vector<std::size_t> up, down;
    for (std::size_t node = flow.from; node != root_; node = parent_[node]) up.push_back(node);
    for (std::size_t node = flow.to; node != root_; node = parent_[node]) down.push_back(node);
    while (!up.empty() && !down.empty() && up.back() == down.back()) {
        up.pop_back();
        down.pop_back();
    }
    std::vector<DirectedLink> links;
    for (const std::size_t node : up) links.push_back({node, true});
    for (auto node = down.rbegin(); node != down.rend(); ++node) links.push_back({*node, false});
    return links;
}

std::size_t HostTree::add_switch(std::size_t parent, std::span<const std::size_t> children) {
    const std::size_t node = size();
    parent_.push_back(parent);
    for (const std::size_t child : children) parent_[child] = node;
    return node;
}

void HostTree::remove_switch(std::size_t node) {
    for (const std::size_t child : children(node)) parent_[child] = parent_[node];
    parent_.erase(parent_.begin() + static_cast<std::ptrdiff_t>(node));
    for (std::size_t& above : parent_) above -= above > node ? 1 : 0;
    root_ -= root_ > node ? 1 : 0;
}

void HostTree::make_root(std::size_t node) {
    std::size_t above = node, at = node;
    while (at != root_) {
        const std::size_t next = parent_[at];
        parent_[at] = above;
        above = at;
        at = next;
    }
    parent_[at] = above;
    parent_[node] = node;
    root_ = node;
}

std::size_t HostTree::height_from(std::size_t node, std::size_t coming_from) const {
    std::size_t height = 0;
    auto neighbours = children(node);
    if (node != root_) neighbours.push_back(parent_[node]);
    for (const std::size_t next : neighbours) {
        if (next != coming_from) height = std::max(height, 1 + height_from(next, node));
    }
    return height;
}

void HostTree::make_central_root() {
    std::pair<std::size_t, std::size_t> best{SIZE_MAX, SIZE_MAX};
    std::size_t centre = root_;
    for (const std::size_t node : switches()) {
        auto neighbours = children(node);
        if (node != root_) neighbours.push_back(parent_[node]);
        const auto own_hosts = static_cast<std::size_t>(
            std::count_if(neighbours.begin(), neighbours.end(), [&](std::size_t next) { return is_host(next); }));
        const std::pair<std::size_t, std::size_t> rank{height_from(node, node), own_hosts};
        if (rank < best) {
            best = rank;
            centre = node;
        }
    }
    make_root(centre);
}

}  // namespace headway

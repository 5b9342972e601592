// SPDX-License-Identifier: Apache-2.0
// Many priority queues over one arena of nodes: a queue is the number of its
// least node, nodes link each other by number.  Adding is O(1), taking any node
// out O(log n) amortised, and a copy of the arena is a copy of all queues.
//
// `Nodes` is indexed by number and gives an object with a member
// `heap_link` of type PairingLink.
#pragma once

#include <cstdint>
#include <utility>

namespace headway {

inline constexpr std::uint32_t no_node = UINT32_MAX;

struct PairingLink {
    double key = 0;
    std::uint32_t child = no_node;     ///< first one
    std::uint32_t next = no_node;      ///< sibling
    std::uint32_t previous = no_node;  ///< sibling; of a first child: the parent
};

template <class Nodes>
class PairingHeap {
public:
    /// The queue whose least node is `root`, which this object changes.
    PairingHeap(Nodes& nodes, std::uint32_t& root) : nodes_(nodes), root_(root) {}

    void add(std::uint32_t id, double key) {
        link(id) = {key, no_node, no_node, no_node};
        root_ = merge(root_, id);
    }

    void remove(std::uint32_t id) {
        const std::uint32_t children = merge_siblings(std::exchange(link(id).child, no_node));
        if (id == root_) {
            root_ = children;
            return;
        }
        const auto [key, child, next, previous] = link(id);
        if (link(previous).child == id) link(previous).child = next;
        else link(previous).next = next;
        if (next != no_node) link(next).previous = previous;
        root_ = merge(root_, children);
    }

private:
    PairingLink& link(std::uint32_t id) { return nodes_[id].heap_link; }

    /// Merges two least nodes without siblings; either may be none.
    std::uint32_t merge(std::uint32_t a, std::uint32_t b) {
        if (a == no_node) return b;
        if (b == no_node) return a;
        if (link(b).key < link(a).key) std::swap(a, b);
        link(b).next = link(a).child;
        link(b).previous = a;
        if (link(a).child != no_node) link(link(a).child).previous = b;
        link(a).child = b;
        return a;
    }

    std::uint32_t take_off(std::uint32_t& list) {
        const std::uint32_t first = list;
        if (first == no_node) return no_node;
        list = std::exchange(link(first).next, no_node);
        link(first).previous = no_node;
        return first;
    }

    /// In pairs first, then all into one: that makes it O(log n) amortised.
    std::uint32_t merge_siblings(std::uint32_t list) {
        std::uint32_t pairs = no_node;
        while (list != no_node) {
            const std::uint32_t a = take_off(list);
            const std::uint32_t b = take_off(list);
            const std::uint32_t both = merge(a, b);
            link(both).next = pairs;
            pairs = both;
        }
        std::uint32_t root = no_node;
        while (pairs != no_node) {
            const std::uint32_t pair = take_off(pairs);
            root = merge(root, pair);
        }
        return root;
    }

    Nodes& nodes_;
    std::uint32_t& root_;
};

}  // namespace headway

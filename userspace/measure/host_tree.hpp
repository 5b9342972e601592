// SPDX-License-Identifier: Apache-2.0
// The tree of switches that a measurement has found, with the measured hosts at its ends.
//
// Nodes 0 .. hosts - 1 are the hosts, by number; the switches follow.  Every node but the
// root has a link to its parent.  A switch with fewer than three links cannot be seen from
// hosts, so there is none, but for the only switch of two hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "measure/laboratory.hpp"

namespace headway {

/// A direction of a node's link to its parent.
struct DirectedLink {
    std::size_t node = 0;
    bool is_up = true;
    friend auto operator<=>(const DirectedLink&, const DirectedLink&) = default;
};

class HostTree {
public:
    /// All hosts on one switch.
    explicit HostTree(std::size_t hosts);

    [[nodiscard]] std::size_t host_count() const { return hosts_; }
    [[nodiscard]] std::size_t size() const { return parent_.size(); }
    [[nodiscard]] std::size_t root() const { return root_; }
    [[nodiscard]] bool is_host(std::size_t node) const { return node < hosts_; }
    [[nodiscard]] std::size_t parent(std::size_t node) const { return parent_[node]; }
    [[nodiscard]] std::vector<std::size_t> children(std::size_t node) const;
    [[nodiscard]] std::vector<std::size_t> hosts_below(std::size_t node) const;
    /// The hosts directly at a switch.
    [[nodiscard]] std::vector<std::size_t> hosts_at(std::size_t node) const;
    /// Switches but the root: the nodes whose links join switches.
    [[nodiscard]] std::vector<std::size_t> trunks() const;
    [[nodiscard]] std::vector<std::size_t> switches() const;

    [[nodiscard]] std::vector<DirectedLink> path(const Flow& flow) const;

    /// A new switch below `parent` that takes over some of its children.  Its node.
    std::size_t add_switch(std::size_t parent, std::span<const std::size_t> children);
    /// A switch's children go to its parent, and the numbers of later switches down by one.
    void remove_switch(std::size_t node);
    /// Turns links round: the same tree, seen from another switch.
    void make_root(std::size_t node);
    /// Makes the switch the root whose farthest host is nearest; of equals one without hosts of its
    /// own.
    void make_central_root();

private:
    [[nodiscard]] std::size_t height_from(std::size_t node, std::size_t coming_from) const;

    std::size_t hosts_;
    std::size_t root_;
    std::vector<std::size_t> parent_;  ///< of the root: itself
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// A network (network/network_items.hpp) whose nodes have numbers and know their neighbours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/host_name.hpp"
#include "network/network_items.hpp"

namespace headway {

/// A value.
class NetworkTree {
public:
    using Node = std::uint32_t;
    static constexpr Node root = 0;

    /// Fails with the first of find_mistakes().
    [[nodiscard]] static Result<NetworkTree> make(std::vector<NetworkItem> items);

    /// In tree order.
    [[nodiscard]] std::size_t size() const { return items_.size(); }
    [[nodiscard]] const std::string& name(Node node) const { return items_[node].name; }
    [[nodiscard]] bool is_host(Node node) const {
        return items_[node].kind == NetworkNodeKind::host;
    }
    [[nodiscard]] const NetworkItem& item(Node node) const { return items_[node]; }
    [[nodiscard]] Node parent(Node node) const { return parent_[node]; }  ///< of the root: itself
    [[nodiscard]] std::uint32_t depth(Node node) const { return depth_[node]; }
    [[nodiscard]] const NetworkEdge& edge(Node node) const { return items_[node].edge; }
    [[nodiscard]] const std::vector<Node>& children(Node node) const { return children_[node]; }

    [[nodiscard]] std::size_t host_count() const { return hosts_below(root); }
    [[nodiscard]] std::size_t switch_count() const { return size() - host_count(); }
    [[nodiscard]] std::size_t hosts_below(Node node) const { return hosts_below_[node]; }
    [[nodiscard]] std::optional<Node> find_host(std::string_view name) const;
    [[nodiscard]] std::optional<Node> find_switch(std::string_view name) const;

    friend bool operator==(const NetworkTree& a, const NetworkTree& b) {
        return a.items_ == b.items_;
    }

private:
    struct NameHash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    using Names = std::unordered_map<std::string, Node, NameHash, std::equal_to<>>;

    NetworkTree() = default;
    void number();

    std::vector<NetworkItem> items_;
    std::vector<Node> parent_;
    std::vector<std::uint32_t> depth_;
    std::vector<std::vector<Node>> children_;
    std::vector<std::uint32_t> hosts_below_;
    HostNames hosts_;
    Names switches_;
};

}  // namespace headway

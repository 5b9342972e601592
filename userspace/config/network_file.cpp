// SPDX-License-Identifier: Apache-2.0
#include "config/network_file.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/core.h>

#include "base/hostlist.hpp"
#include "base/units.hpp"
#include "config/toml_reader.hpp"

namespace headway {
namespace {

using Node = NetworkTree::Node;

constexpr std::size_t hosts_line_max_bytes = 80;

constexpr std::array other_tables{"node",   "policy",       "kernel",   "daemon",
                                  "access", "coordination", "feedback", "network"};

/// Returns the end of the hosts below `node` that are alike the one at `begin`.
std::size_t group_end(const NetworkTree& tree, Node node, std::size_t begin) {
    const auto& children = tree.children(node);
    std::size_t end = begin;
    while (end < children.size() && tree.is_host(children[end]) &&
           tree.edge(children[end]) == tree.edge(children[begin])) {
        ++end;
    }
    return end;
}

/// All that [[cluster]] tables without parents can say.
bool is_star(const NetworkTree& tree) {
    const auto& clusters = tree.children(NetworkTree::root);
    if (tree.name(NetworkTree::root) != star_centre || clusters.empty()) return false;
    if (clusters.size() == 2 && tree.edge(clusters[1]).delay.count() != 0) return false;
    return std::all_of(clusters.begin(), clusters.end(), [&](Node node) {
        return tree.item(node).is_cluster && group_end(tree, node, 0) == tree.children(node).size();
    });
}

class Writer {
public:
    explicit Writer(const NetworkTree& tree)
        : tree_(tree), is_star_(is_star(tree)), cable_delay_(delay_of_cable(tree)) {}

    std::string write() {
        for (Node node = 0; node < tree_.size(); ++node) {
            if (tree_.is_host(node)) continue;
            if (node == NetworkTree::root && is_star_) continue;
            write_node(node);
        }
        return std::move(text_);
    }

private:
    void write_node(Node node) {
        const NetworkItem& item = tree_.item(node);
        if (!text_.empty()) text_ += '\n';
        text_ += item.is_cluster ? "[[cluster]]\n" : "[[switch]]\n";
        say("name", item.name);
        const bool has_parent = node != NetworkTree::root && !is_star_;
        if (has_parent) say("parent", tree_.name(tree_.parent(node)));
        std::size_t at = 0;
        if (item.is_cluster) {
            at = group_end(tree_, node, 0);
            write_hosts("hosts", node, 0, at);
            write_prefixes(item);
            write_edge("host_", tree_.edge(tree_.children(node).front()));
            NetworkEdge trunk = item.edge;
            trunk.delay = cable_delay_.value_or(trunk.delay);
            write_edge("trunk_", trunk);
            write_links(item.edge.links);
        } else if (has_parent) {
            write_edge("", item.edge);
            write_links(item.edge.links);
        }
        for (std::size_t end = at; end = group_end(tree_, node, at), at < end; at = end) {
            text_ += "\n[[hosts]]\n";
            write_hosts("names", node, at, end);
            say("parent", item.name);
            write_edge("", tree_.edge(tree_.children(node)[at]));
        }
    }

    void say(std::string_view key, std::string_view value) {
        fmt::format_to(std::back_inserter(text_), "{} = \"{}\"\n", key, value);
    }

    /// Pieces of a line each, cut at the commas outside brackets.
    void write_hosts(std::string_view key, Node node, std::size_t begin, std::size_t end) {
        std::vector<std::string> names;
        for (std::size_t i = begin; i < end; ++i) {
            names.push_back(tree_.name(tree_.children(node)[i]));
        }
        const std::string list = format_hostlist(names);
        fmt::format_to(std::back_inserter(text_), "{} = [", key);
        std::string piece;
        bool in_brackets = false;
        bool is_first = true;
        const auto flush = [&] {
            fmt::format_to(std::back_inserter(text_), "{}\"{}\"", is_first ? "" : ",\n    ", piece);
            is_first = false;
            piece.clear();
        };
        for (const char c : list) {
            if (c == '[') in_brackets = true;
            if (c == ']') in_brackets = false;
            if (c == ',' && !in_brackets && piece.size() >= hosts_line_max_bytes) flush();
            else piece += c;
        }
        flush();
        text_ += "]\n";
    }

    void write_prefixes(const NetworkItem& item) {
        if (item.prefixes.empty()) return;
        std::string list;
        for (const IpPrefix& prefix : item.prefixes) {
            list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", prefix.to_string());
        }
        fmt::format_to(std::back_inserter(text_), "prefixes = [{}]\n", list);
    }

    void write_edge(std::string_view before, const NetworkEdge& edge) {
        const auto directions = [&](std::string_view what, const std::string& up,
                                    const std::string& down) {
            if (up == down) {
                if (!up.empty()) say(fmt::format("{}{}", before, what), up);
                return;
            }
            if (!up.empty()) say(fmt::format("{}up_{}", before, what), up);
            if (!down.empty()) say(fmt::format("{}down_{}", before, what), down);
        };
        directions("rate", rate_to_tc(edge.up_rate), rate_to_tc(edge.down_rate));
        if (edge.delay.count() != 0) say(fmt::format("{}delay", before), duration_to_text(edge.delay));
        const auto size = [](const std::optional<std::uint64_t>& bytes) {
            return bytes ? byte_size_to_text(*bytes) : std::string();
        };
        directions("buffer", size(edge.up_buffer_bytes), size(edge.down_buffer_bytes));
    }

    void write_links(const ParallelLinks& links) {
        if (!links.are_hashed()) return;
        fmt::format_to(std::back_inserter(text_), "uplinks = {}\n", links.count);
        if (links.hash == LinkHash::pair) say("uplink_hash", hash_name(links.hash));
    }

    const NetworkTree& tree_;
    bool is_star_;
    std::optional<std::chrono::nanoseconds> cable_delay_;
    std::string text_;
};

}  // namespace

FileResult<TomlTopology> parse_topology_toml(std::string_view text, std::string_view file) {
    std::vector<FileError> errors;
    const auto table = parse_toml(text, file, errors);
    std::optional<TomlTopology> topology;
    if (table) {
        TomlReader top(*table, "", std::string(file), errors);
        for (const char* other : other_tables) top.find(other);
        topology = read_topology(top, PrefixesAre::optional);
        top.finish();
    }
    if (errors.empty() && topology) return std::move(*topology);
    std::ranges::stable_sort(errors, {}, &FileError::line);
    return tl::unexpected(std::move(errors));
}

std::optional<std::chrono::nanoseconds> delay_of_cable(const NetworkTree& tree) {
    const auto& clusters = tree.children(NetworkTree::root);
    if (clusters.size() != 2 || !is_star(tree)) return std::nullopt;
    return tree.edge(clusters.front()).delay;
}

std::string write_topology_toml(const NetworkTree& tree) { return Writer(tree).write(); }

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "config/topology_toml.hpp"

#include <algorithm>

#include "base/hostlist.hpp"
#include "config/toml_reader.hpp"
#include "config/topology_toml_tables.hpp"

namespace headway {
namespace {

using TableKind = TomlTable::Kind;

constexpr std::size_t clusters_max = 128;  // a status answer fits into a datagram
constexpr std::size_t prefixes_max = 1024;

const char* table_name(TableKind kind) {
    return kind == TableKind::cluster ? "cluster" : kind == TableKind::hosts ? "hosts" : "switch";
}

constexpr const char* see_example = "see headway.toml(5) for an example";

/// A mistake of the network as a whole.
void tell_of_all(TomlReader& top, const std::vector<TomlTable>& tables, std::string reason,
                 std::string advice = see_example) {
    top.error(tables.front().line, table_name(tables.front().kind), std::move(reason),
              std::move(advice));
}

/// False, having told so, if there is too much to look at.
bool is_within_bounds(TomlReader& top, const std::vector<TomlTable>& tables) {
    std::size_t clusters = 0;
    std::size_t hosts = 0;
    std::size_t prefixes = 0;
    for (const TomlTable& table : tables) {
        clusters += table.kind == TableKind::cluster ? 1 : 0;
        hosts += table.hosts.names.size();
        prefixes += table.prefixes.size();
    }
    if (clusters <= clusters_max && hosts <= hosts_max && prefixes <= prefixes_max) return true;
    tell_of_all(top, tables,
                fmt::format("{} clusters, {} hosts and {} prefixes are too many", clusters, hosts,
                            prefixes),
                fmt::format("at most {}, {} and {} can be described", clusters_max, hosts_max,
                            prefixes_max));
    return false;
}

bool is_star(const std::vector<TomlTable>& tables) {
    return std::ranges::all_of(tables, [](const TomlTable& table) {
        return table.kind == TableKind::cluster && !table.parent;
    });
}

// ---------------------------------------------------------------------- stars

Cluster cluster_of(const TomlTable& table) {
    Cluster cluster;
    cluster.name = table.name;
    cluster.hosts = table.hosts.names;
    cluster.prefixes = table.prefixes;
    cluster.host_rate = table.hosts.edge.up_rate;
    cluster.trunk_up_rate = table.edge.up_rate;
    cluster.trunk_down_rate = table.edge.down_rate;
    cluster.trunk_delay = table.edge.delay;
    cluster.trunk_buffer_bytes = least_buffer(table.edge);
    cluster.host_buffer_bytes = table.hosts.edge.down_buffer_bytes;
    return cluster;
}

/// Tells conflicts between clusters with the lines of their values.
void report_conflicts(TomlReader& top, const std::vector<TomlTable>& tables,
                      const std::vector<Cluster>& clusters) {
    for (const TopologyConflict& conflict : find_conflicts(clusters)) {
        const TomlTable& later = tables[conflict.cluster];
        const auto tell = [&](std::uint32_t line, std::string_view key, std::string advice) {
            top.error(line, key, conflict.message, std::move(advice));
        };
        if (conflict.kind == TopologyConflict::Kind::host) {
            tell(later.hosts.lines[conflict.position], "cluster.hosts", "list every host once");
        } else if (conflict.kind == TopologyConflict::Kind::prefix) {
            tell(later.prefix_lines[conflict.position], "cluster.prefixes",
                 "give every cluster addresses of its own, each listed once");
        } else if (!later.name.empty()) {  // or else reported as missing
            tell(later.name_line, "cluster.name", "give every cluster its own name");
        }
    }
}

/// What Topology does not know of edges.  The items are in the tables' order.
void add_details(const std::vector<TomlTable>& tables, std::vector<NetworkItem>& items) {
    std::size_t at = 1;  // after the centre
    for (const TomlTable& table : tables) {
        items[at].edge.up_buffer_bytes = table.edge.up_buffer_bytes;
        items[at].edge.down_buffer_bytes = table.edge.down_buffer_bytes;
        ++at;
        for (std::size_t host = 0; host < table.hosts.names.size(); ++host) {
            items[at++].edge = table.hosts.edge;
        }
    }
}

// ---------------------------------------------------------------------- trees

/// Where an item was described.
struct TablePlace {
    std::uint32_t line;
    const char* key;
};

std::vector<NetworkItem> items_of(TomlReader& top, const std::vector<TomlTable>& tables,
                                  std::vector<TablePlace>& places) {
    std::vector<NetworkItem> items;
    for (const TomlTable& table : tables) {
        const bool is_cluster = table.kind == TableKind::cluster;
        const bool is_loose = table.kind == TableKind::hosts;
        const std::string parent = table.parent ? table.parent->value : "";
        if (is_cluster && !table.parent) {
            top.error(table.line, "cluster.parent", "it is missing, as there are switches",
                      "name the switch that the trunk leads to");
        }
        if (!is_loose) {
            items.push_back({NetworkNodeKind::switch_node, table.name, parent, table.edge,
                             is_cluster, table.prefixes});
            places.push_back({table.name_line, table_name(table.kind)});
        }
        for (std::size_t i = 0; i < table.hosts.names.size(); ++i) {
            items.push_back({NetworkNodeKind::host, table.hosts.names[i],
                             is_loose ? parent : table.name, table.hosts.edge, false, {}});
            places.push_back({table.hosts.lines[i], is_loose ? "hosts.names" : "cluster.hosts"});
        }
    }
    return items;
}

void report_mistakes(TomlReader& top, const std::vector<TomlTable>& tables,
                     const std::vector<NetworkItem>& items,
                     const std::vector<TablePlace>& places) {
    for (const NetworkMistake& mistake : find_mistakes(items)) {
        if (mistake.item == NetworkMistake::whole_network) {
            tell_of_all(top, tables, mistake.message);
            continue;
        }
        const auto [line, key] = places[mistake.item];
        top.error(line, key, mistake.message,
                  "a network is one tree of switches and clusters, every name used once");
    }
}

/// Tells of clusters whose packets nobody knows.  A [[cluster]] without prefixes
/// has been told of.
void report_unaddressed(TomlReader& top, const std::vector<TomlTable>& tables,
                        const Topology& topology) {
    for (const Cluster& cluster : topology.clusters()) {
        if (!cluster.prefixes.empty()) continue;
        const auto table = std::ranges::find_if(tables, [&](const TomlTable& one) {
            return one.kind == TableKind::hosts && one.parent && one.parent->value == cluster.name;
        });
        if (table == tables.end()) continue;
        top.error(table->line, "hosts",
                  fmt::format("the prefixes of the hosts of \"{}\" are not known", cluster.name),
                  "describe them as a [[cluster]] with its prefixes");
    }
}

std::optional<TomlTopology> make(TomlReader& top, const std::vector<TomlTable>& tables,
                                 std::vector<NetworkItem> items, std::optional<Topology> known) {
    if (const auto mistakes = find_mistakes(items); !mistakes.empty()) {
        tell_of_all(top, tables, mistakes.front().message);
        return std::nullopt;
    }
    auto clusters = topology_of(items).map_error([&](const Error& error) {
        return FileError{top.file(), tables.front().line, table_name(tables.front().kind),
                         fmt::format("it cannot be planned for: {}", error.message),
                         "give all hosts of a switch the same links, the same in both directions"};
    });
    if (clusters && known) clusters = std::move(*known);
    return TomlTopology{std::move(items), std::move(clusters)};
}

}  // namespace

std::optional<TomlTopology> read_topology(TomlReader& top, PrefixesAre prefixes) {
    if (top.find("cluster") == nullptr && top.find("switch") == nullptr &&
        top.find("hosts") == nullptr) {
        top.error(0, "cluster", "no cluster is described",
                  "add a [[cluster]] table for each cluster of hosts");
        return std::nullopt;
    }
    const std::size_t errors_before = top.error_count();
    const auto tables = read_topology_tables(top, prefixes);
    if (tables.empty() || !is_within_bounds(top, tables)) return std::nullopt;
    if (!is_star(tables)) {
        std::vector<TablePlace> places;
        auto items = items_of(top, tables, places);
        if (top.error_count() == errors_before) report_mistakes(top, tables, items, places);
        if (top.error_count() != errors_before) return std::nullopt;
        auto made = make(top, tables, std::move(items), std::nullopt);
        if (made && made->clusters && prefixes == PrefixesAre::required) {
            report_unaddressed(top, tables, *made->clusters);
        }
        return made;
    }
    std::vector<Cluster> clusters;
    for (const TomlTable& table : tables) clusters.push_back(cluster_of(table));
    report_conflicts(top, tables, clusters);
    if (top.error_count() != errors_before) return std::nullopt;
    auto topology = Topology::make(std::move(clusters));
    if (!topology) return std::nullopt;  // only for conflicts, which have been told
    auto items = network_items(*topology);
    add_details(tables, items);
    return make(top, tables, std::move(items), std::move(*topology));
}

}  // namespace headway

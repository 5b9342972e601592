// SPDX-License-Identifier: Apache-2.0
#include "config/topology_toml.hpp"

#include <algorithm>

#include "base/hostlist.hpp"
#include "config/toml_reader.hpp"
#include "config/topology_toml_tables.hpp"

namespace headway {
namespace {

using TableKind = TomlTable::Kind;

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

/// How the centre of a star is called, which has no name in the file.
std::string name_of_centre(const std::vector<TomlTable>& clusters) {
    std::string name = star_centre;
    const auto is_used = [&] {
        return std::ranges::find(clusters, name, &TomlTable::name) != clusters.end();
    };
    for (int i = 2; is_used(); ++i) name = fmt::format("{}-{}", star_centre, i);
    return name;
}

/// The place at which an item was described.
struct TablePlace {
    const TomlTable& table;
    std::uint32_t line;
    const char* key;
};

std::vector<NetworkItem> items_of(TomlReader& top, const std::vector<TomlTable>& tables,
                                  std::vector<TablePlace>& places) {
    std::vector<NetworkItem> items;
    std::string centre;
    if (is_star(tables)) {
        centre = name_of_centre(tables);
        items.push_back({NetworkNodeKind::switch_node, centre, "", {}, false, {}});
        places.push_back({tables.front(), tables.front().line, "cluster"});
    }
    for (const TomlTable& table : tables) {
        const bool is_cluster = table.kind == TableKind::cluster;
        const bool is_loose = table.kind == TableKind::hosts;
        const std::string parent = table.parent ? table.parent->value : centre;
        if (is_cluster && !table.parent && centre.empty()) {
            top.error(table.line, "cluster.parent", "it is missing, as there are switches",
                      "name the switch that the trunk leads to");
        }
        if (!is_loose) {
            items.push_back({NetworkNodeKind::switch_node, table.name, parent, table.edge,
                             is_cluster, table.prefixes});
            places.push_back({table, table.name_line, table_name(table.kind)});
        }
        for (std::size_t i = 0; i < table.hosts.names.size(); ++i) {
            items.push_back({NetworkNodeKind::host, table.hosts.names[i],
                             is_loose ? parent : table.name, table.hosts.edge, false, {}});
            places.push_back(
                {table, table.hosts.lines[i], is_loose ? "hosts.names" : "cluster.hosts"});
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
        auto [table, line, key] = places[mistake.item];
        if (mistake.prefix) {
            line = table.prefix_lines[*mistake.prefix];
            key = "cluster.prefixes";
        }
        top.error(line, key, mistake.message,
                  "a network is one tree of switches and clusters, every name used once, every "
                  "address in one cluster");
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
    std::vector<TablePlace> places;
    auto items = items_of(top, tables, places);
    if (top.error_count() == errors_before) report_mistakes(top, tables, items, places);
    if (top.error_count() != errors_before) return std::nullopt;
    const bool is_cable = is_star(tables) && tables.size() == 2;
    auto clusters = topology_of(items, is_cable).map_error([&](const Error& error) {
        return FileError{top.file(), tables.front().line, table_name(tables.front().kind),
                         fmt::format("it cannot be planned for: {}", error.message),
                         "give all hosts of a switch the same links, the same in both directions"};
    });
    if (is_cable) {  // as a tree, the first trunk has all its delay
        items[1].edge.delay = std::max(tables[0].edge.delay, tables[1].edge.delay);
        items[2 + tables[0].hosts.names.size()].edge.delay = {};
    }
    if (clusters && prefixes == PrefixesAre::required) report_unaddressed(top, tables, *clusters);
    return TomlTopology{std::move(items), std::move(clusters)};
}

}  // namespace headway

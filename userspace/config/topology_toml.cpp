// SPDX-License-Identifier: Apache-2.0
#include "config/topology_toml.hpp"

#include <algorithm>
#include <numeric>

#include "base/hostlist.hpp"
#include "config/toml_reader.hpp"
#include "config/topology_toml_tables.hpp"

namespace headway {
namespace {

using TableKind = TomlTable::Kind;

constexpr std::size_t clusters_max = 128;  // a status answer fits into a datagram
constexpr std::size_t prefixes_max = 1024;

const char* table_name(TableKind kind) {
    return kind == TableKind::switch_table ? "switch" : kind == TableKind::cluster ? "cluster" : "hosts";
}

/// False, having told so, if there is too much to look at.
bool is_within_bounds(TomlReader& top, const std::vector<TomlTable>& tables) {
    const auto sum = [&](auto count) {
        return std::accumulate(tables.begin(), tables.end(), std::size_t{0},
                               [&](std::size_t n, const auto& table) { return n + count(table); });
    };
    const auto clusters = sum([](auto& t) { return t.kind == TableKind::cluster ? 1U : 0U; });
    const auto hosts = sum([](auto& t) { return t.hosts.names.size(); });
    const auto prefixes = sum([](auto& t) { return t.prefixes.size(); });
    if (clusters <= clusters_max && hosts <= hosts_max && prefixes <= prefixes_max) return true;
    top.error(tables.front().line, table_name(tables.front().kind),
              fmt::format("{} clusters, {} hosts and {} prefixes are too many", clusters, hosts,
                          prefixes),
              fmt::format("at most {}, {} and {} can be described", clusters_max, hosts_max,
                          prefixes_max));
    return false;
}

bool is_star(const std::vector<TomlTable>& tables) {
    return std::all_of(tables.begin(), tables.end(), [](const TomlTable& table) {
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
        switch (conflict.kind) {
            case TopologyConflict::Kind::name:
                if (later.name.empty()) break;  // reported as missing
                top.error(later.name_line, "cluster.name", conflict.message,
                          "give every cluster its own name");
                break;
            case TopologyConflict::Kind::host:
                top.error(later.hosts.lines[conflict.position], "cluster.hosts", conflict.message,
                          "list every host once");
                break;
            case TopologyConflict::Kind::prefix:
                top.error(later.prefix_lines[conflict.position], "cluster.prefixes",
                          conflict.message,
                          "give every cluster addresses of its own, each listed once");
                break;
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

struct LocatedItems {
    std::vector<NetworkItem> items;
    std::vector<TablePlace> places;

    void add(NetworkItem item, TablePlace place) {
        items.push_back(std::move(item));
        places.push_back(place);
    }
};

LocatedItems items_of(TomlReader& top, const std::vector<TomlTable>& tables) {
    LocatedItems all;
    for (const TomlTable& table : tables) {
        const std::string parent = table.parent ? table.parent->value : "";
        if (table.kind == TableKind::cluster && !table.parent) {
            top.error(table.line, "cluster.parent", "it is missing, as there are switches",
                      "name the switch that the trunk leads to");
        }
        if (table.kind != TableKind::hosts) {
            const bool is_cluster = table.kind == TableKind::cluster;
            all.add({NetworkNodeKind::switch_node, table.name, parent, table.edge, is_cluster,
                     table.prefixes},
                    {table.name_line, is_cluster ? "cluster" : "switch"});
        }
        const std::string& above = table.kind == TableKind::hosts ? parent : table.name;
        for (std::size_t i = 0; i < table.hosts.names.size(); ++i) {
            all.add({NetworkNodeKind::host, table.hosts.names[i], above, table.hosts.edge, false,
                     {}},
                    {table.hosts.lines[i],
                     table.kind == TableKind::hosts ? "hosts.names" : "cluster.hosts"});
        }
    }
    return all;
}

void report_mistakes(TomlReader& top, const std::vector<TomlTable>& tables,
                     const LocatedItems& all) {
    for (const NetworkMistake& mistake : find_mistakes(all.items)) {
        if (mistake.item == NetworkMistake::whole_network) {
            top.error(tables.front().line, table_name(tables.front().kind), mistake.message,
                      "see headway.toml(5) for an example");
        } else {
            const TablePlace& place = all.places[mistake.item];
            top.error(place.line, place.key, mistake.message,
                      "a network is one tree of switches and clusters, every name used once");
        }
    }
}

FileError no_clusters_error(const TomlReader& top, const std::vector<TomlTable>& tables,
                            std::string_view reason) {
    return {top.file(), tables.front().line, table_name(tables.front().kind),
            fmt::format("it cannot be planned for: {}", reason),
            "give all hosts of a switch the same links, the same in both directions"};
}

/// Tells of clusters whose packets nobody knows.  A [[cluster]] without prefixes
/// has been told of.
void report_unaddressed(TomlReader& top, const std::vector<TomlTable>& tables,
                        const Topology& topology) {
    for (const Cluster& cluster : topology.clusters()) {
        if (!cluster.prefixes.empty()) continue;
        const auto table = std::find_if(tables.begin(), tables.end(), [&](const TomlTable& one) {
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
    auto network = NetworkTree::make(std::move(items));
    if (!network) {
        top.error(tables.front().line, table_name(tables.front().kind), network.error().message,
                  "see headway.toml(5) for an example");
        return std::nullopt;
    }
    auto clusters = topology_of(*network);
    TomlTopology made{std::move(*network), std::nullopt, std::nullopt};
    if (!clusters) made.no_clusters = no_clusters_error(top, tables, clusters.error().message);
    else made.clusters = known ? std::move(*known) : std::move(*clusters);
    return made;
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
        LocatedItems all = items_of(top, tables);
        if (top.error_count() == errors_before) report_mistakes(top, tables, all);
        if (top.error_count() != errors_before) return std::nullopt;
        auto made = make(top, tables, std::move(all.items), std::nullopt);
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

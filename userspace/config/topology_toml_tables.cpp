// SPDX-License-Identifier: Apache-2.0
#include "config/topology_toml_tables.hpp"

#include <algorithm>

#include "base/hostlist.hpp"
#include "base/units.hpp"

namespace headway {
namespace {

constexpr std::size_t name_max_bytes = 64;

template <class Value>
struct Directions {
    std::optional<Value> up;
    std::optional<Value> down;
};

/// The directions that must have a value.
enum class Needed { none, both_or_none, both };

/// One value for both directions or one for each: "rate", or "up_rate" and "down_rate",
/// with something in front of each.
template <class Value>
Directions<Value> read_directions(TomlReader& reader, std::string_view before,
                                  std::string_view what, Needed needed,
                                  Result<Value> (*parse)(std::string_view), const char* advice) {
    const std::string both = fmt::format("{}{}", before, what);
    const std::string up = fmt::format("{}up_{}", before, what);
    const std::string down = fmt::format("{}down_{}", before, what);
    const auto value = reader.parsed(both, parse, advice);
    const Directions<Value> each{reader.parsed(up, parse, advice),
                                 reader.parsed(down, parse, advice)};
    const bool has_both = reader.find(both) != nullptr;
    const bool has_up = reader.find(up) != nullptr;
    const bool has_down = reader.find(down) != nullptr;
    if (has_both && (has_up || has_down)) {
        reader.error(reader.line(), both, fmt::format("it contradicts {} and {}", up, down),
                     fmt::format("write either {} alone or the other two", both));
    } else if (!has_both && (has_up != has_down ? needed != Needed::none
                                                : needed == Needed::both && !has_up)) {
        reader.error(reader.line(), has_up ? down : has_down ? up : both, "it is missing",
                     fmt::format("write {}, or both {} and {}", both, up, down));
    }
    return value ? Directions<Value>{value, value} : each;
}

/// Keys are `before` + rate, up_rate, ..., delay, buffer, ...
NetworkEdge read_edge(TomlReader& reader, std::string_view before, Needed rates) {
    const auto rate = read_directions(reader, before, "rate", rates, parse_rate,
                                      "write a number and one of bit, kbit, mbit, gbit, tbit");
    const auto delay =
        reader.parsed(fmt::format("{}delay", before), parse_duration,
                      "write the one-way delay as a number and one of ns, us, ms, s");
    const auto buffer = read_directions(reader, before, "buffer", Needed::none, parse_byte_size,
                                        "write a number and one of B, kB, KiB, MB, MiB, GB, GiB");
    return {rate.up.value_or(BitsPerSecond{}), rate.down.value_or(BitsPerSecond{}),
            delay.value_or(std::chrono::nanoseconds::zero()), buffer.up, buffer.down};
}

/// Of the link towards the centre.
ParallelLinks read_links(TomlReader& reader) {
    const auto most = std::int64_t{ParallelLinks::count_max};
    const auto count = reader.integer(
        "uplinks", {{1, most}, "{} is out of range",
                    fmt::format("write the number of parallel links, 1 .. {} (default 1)", most)});
    const bool by_pair = reader.choice("uplink_hash", {"flow", "pair"}) == 1;
    if (reader.find("uplink_hash") != nullptr && reader.find("uplinks") == nullptr) {
        reader.error(reader.line(), "uplink_hash", "nothing says between how many links it chooses",
                     "write uplinks = and their number as well");
    }
    return {static_cast<std::uint32_t>(count.value_or(1)), by_pair ? LinkHash::pair : LinkHash::flow};
}

void read_hosts(TomlReader& reader, std::string_view key, TomlHosts& hosts) {
    for (const auto& item : reader.strings(key)) {
        auto names = parse_hostlist(item.value);
        if (!names) {
            reader.error(item.line, key, names.error().message,
                         "write names and ranges such as \"a[0-3,7]\"");
            continue;
        }
        if (hosts.names.size() + names->size() > hosts_max) {
            reader.error(item.line, key, fmt::format("more than {} hosts", hosts_max),
                         "describe only hosts that run MPI jobs");
            return;
        }
        hosts.lines.insert(hosts.lines.end(), names->size(), item.line);
        std::move(names->begin(), names->end(), std::back_inserter(hosts.names));
    }
}

void read_prefixes(TomlReader& reader, TomlTable& table) {
    for (const auto& item : reader.strings("prefixes")) {
        const auto prefix = parse_ip_prefix(item.value);
        if (!prefix) {
            reader.error(item.line, "prefixes", prefix.error().message,
                         "write the addresses of the cluster's hosts as address/length");
            continue;
        }
        table.prefixes.push_back(*prefix);
        table.prefix_lines.push_back(item.line);
    }
}

void read_name(TomlReader& reader, TomlTable& table, std::string_view what) {
    const auto name = reader.string("name");
    table.name_line = name ? name->line : table.line;
    if (reader.find("name") == nullptr) {
        reader.error(table.line, "name", "it is missing", fmt::format("give {} a name", what));
    }
    if (!name) return;
    table.name = name->value;
    if (!is_plain_name(name->value, name_max_bytes)) {
        reader.error(name->line, "name", fmt::format("\"{}\" is no plain name", name->value),
                     fmt::format("use 1 to {} letters, digits, '.', '-', '_'", name_max_bytes));
    }
}

void require(TomlReader& reader, std::string_view key, std::string_view advice) {
    const toml::node* node = reader.find(key);
    const bool empty = node != nullptr && node->is_array() && node->as_array()->empty();
    if (node == nullptr || empty) {
        reader.error(empty ? node->source().begin.line : reader.line(), key,
                     empty ? "it is empty" : "it is missing", std::string(advice));
    }
}

TomlTable read_switch(TomlReader& reader) {
    TomlTable table{TomlTable::Kind::switch_table, reader.line()};
    read_name(reader, table, "the switch");
    table.parent = reader.string("parent");
    table.edge = read_edge(reader, "", table.parent ? Needed::both : Needed::both_or_none);
    table.edge.links = read_links(reader);
    if (!table.parent && table.edge.links.are_hashed()) {
        reader.error(table.line, "uplinks", "the switch has no parent to which they could lead",
                     "name the parent, or leave uplinks out");
    }
    reader.finish();
    return table;
}

TomlTable read_cluster(TomlReader& reader, PrefixesAre prefixes) {
    TomlTable table{TomlTable::Kind::cluster, reader.line()};
    read_name(reader, table, "the cluster");
    read_hosts(reader, "hosts", table.hosts);
    require(reader, "hosts", "list the hosts, such as hosts = [\"a[0-3]\"]");
    read_prefixes(reader, table);
    if (prefixes == PrefixesAre::required) {
        require(reader, "prefixes",
                "list the addresses, such as prefixes = [\"10.1.0.0/16\"]");
    }
    table.hosts.edge = read_edge(reader, "host_", Needed::both);
    table.edge = read_edge(reader, "trunk_", Needed::both);
    table.edge.links = read_links(reader);
    table.parent = reader.string("parent");
    reader.finish();
    return table;
}

TomlTable read_loose_hosts(TomlReader& reader) {
    TomlTable table{TomlTable::Kind::hosts, reader.line()};
    read_hosts(reader, "names", table.hosts);
    require(reader, "names", "list the hosts, such as names = [\"a[0-3]\"]");
    table.parent = reader.string("parent");
    require(reader, "parent", "name the switch or the cluster of the hosts");
    table.hosts.edge = read_edge(reader, "", Needed::both);
    reader.finish();
    return table;
}

}  // namespace

std::vector<TomlTable> read_topology_tables(TomlReader& top, PrefixesAre prefixes) {
    std::vector<TomlTable> tables;
    for (TomlReader& reader : top.tables("switch")) tables.push_back(read_switch(reader));
    for (TomlReader& reader : top.tables("cluster")) {
        tables.push_back(read_cluster(reader, prefixes));
    }
    for (TomlReader& reader : top.tables("hosts")) tables.push_back(read_loose_hosts(reader));
    std::ranges::stable_sort(tables, {}, &TomlTable::line);
    return tables;
}

}  // namespace headway

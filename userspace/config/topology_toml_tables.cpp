// SPDX-License-Identifier: Apache-2.0
#include "config/topology_toml_tables.hpp"

#include <algorithm>

#include "base/units.hpp"
#include "base/hostlist.hpp"

namespace headway {
namespace {

constexpr std::size_t name_max_bytes = 64;
constexpr const char* rate_advice = "write a number and one of bit, kbit, mbit, gbit, tbit";
constexpr const char* size_advice = "write a number and one of B, kB, KiB, MB, MiB, GB, GiB";

/// An absent key and a wrong value give nothing; the latter is told.
template <class Value>
std::optional<Value> read_value(TomlReader& reader, std::string_view key,
                                Result<Value> (*parse)(std::string_view), const char* advice) {
    const auto text = reader.string(key);
    if (!text) return std::nullopt;
    const auto value = parse(text->value);
    if (value) return *value;
    reader.error(text->line, key, value.error().message, advice);
    return std::nullopt;
}

/// A value for both directions or one for each: "rate", or "up_rate" and
/// "down_rate", with something in front of each.
struct Directions {
    std::string both;
    std::string up;
    std::string down;

    Directions(std::string_view before, std::string_view what)
        : both(fmt::format("{}{}", before, what)),
          up(fmt::format("{}up_{}", before, what)),
          down(fmt::format("{}down_{}", before, what)) {}

    void check_rate(TomlReader& reader, bool is_required) const {
        const bool has_both = reader.find(both) != nullptr;
        const bool has_up = reader.find(up) != nullptr;
        const bool has_down = reader.find(down) != nullptr;
        const std::string advice = fmt::format("write {}, or both {} and {}", both, up, down);
        if (has_both) {
            check_alone(reader);
        } else if (has_up != has_down) {
            reader.error(reader.line(), has_up ? down : up, "it is missing", advice);
        } else if (!has_up && is_required) {
            reader.error(reader.line(), both, "it is missing", advice);
        }
    }

    void check_alone(TomlReader& reader) const {
        const bool has_another = (reader.find(up) != nullptr) | (reader.find(down) != nullptr);
        if (!has_another || reader.find(both) == nullptr) return;
        reader.error(reader.line(), both, fmt::format("it contradicts {} and {}", up, down),
                     fmt::format("write either {} alone or the other two", both));
    }
};

/// Keys are `before` + rate, up_rate, ..., delay, buffer, ...
NetworkEdge read_edge(TomlReader& reader, std::string_view before, bool rate_is_required) {
    NetworkEdge edge;
    const Directions rate(before, "rate");
    rate.check_rate(reader, rate_is_required);
    const auto both = read_value(reader, rate.both, parse_rate, rate_advice);
    edge.up_rate = read_value(reader, rate.up, parse_rate, rate_advice)
                       .value_or(both.value_or(BitsPerSecond{}));
    edge.down_rate = read_value(reader, rate.down, parse_rate, rate_advice)
                         .value_or(both.value_or(BitsPerSecond{}));
    edge.delay = read_value(reader, fmt::format("{}delay", before), parse_duration,
                            "write the one-way delay as a number and one of ns, us, ms, s")
                     .value_or(std::chrono::nanoseconds::zero());
    const Directions buffer(before, "buffer");
    buffer.check_alone(reader);
    const auto bytes = read_value(reader, buffer.both, parse_byte_size, size_advice);
    edge.up_buffer_bytes = read_value(reader, buffer.up, parse_byte_size, size_advice);
    edge.down_buffer_bytes = read_value(reader, buffer.down, parse_byte_size, size_advice);
    if (bytes) edge.up_buffer_bytes = edge.down_buffer_bytes = bytes;
    return edge;
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
    if (!name) {
        if (reader.find("name") == nullptr) {
            reader.error(table.line, "name", "it is missing", fmt::format("give {} a name", what));
        }
        return;
    }
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
    TomlTable table;
    table.line = reader.line();
    read_name(reader, table, "the switch");
    table.parent = reader.string("parent");
    table.edge = read_edge(reader, "", table.parent.has_value());
    reader.finish();
    return table;
}

TomlTable read_cluster(TomlReader& reader, PrefixesAre prefixes) {
    TomlTable table;
    table.kind = TomlTable::Kind::cluster;
    table.line = reader.line();
    read_name(reader, table, "the cluster");
    read_hosts(reader, "hosts", table.hosts);
    require(reader, "hosts", "list the hosts, such as hosts = [\"a[0-3]\"]");
    read_prefixes(reader, table);
    if (prefixes == PrefixesAre::required) {
        require(reader, "prefixes",
                "list the addresses, such as prefixes = [\"10.1.0.0/16\"]");
    }
    table.hosts.edge = read_edge(reader, "host_", true);
    table.edge = read_edge(reader, "trunk_", true);
    table.parent = reader.string("parent");
    reader.finish();
    return table;
}

TomlTable read_loose_hosts(TomlReader& reader) {
    TomlTable table;
    table.kind = TomlTable::Kind::hosts;
    table.line = reader.line();
    read_hosts(reader, "names", table.hosts);
    require(reader, "names", "list the hosts, such as names = [\"a[0-3]\"]");
    table.parent = reader.string("parent");
    require(reader, "parent", "name the switch or the cluster of the hosts");
    table.hosts.edge = read_edge(reader, "", true);
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

// SPDX-License-Identifier: Apache-2.0
// The tables [[switch]], [[cluster]] and [[hosts]] one by one, as plain structs
// with the lines of their values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/toml_reader.hpp"
#include "config/topology_toml.hpp"

namespace headway {

/// Hosts whose links are alike.
struct TomlHosts {
    std::vector<std::string> names;
    std::vector<std::uint32_t> lines;  ///< of each name
    NetworkEdge edge;
};

struct TomlTable {
    enum class Kind { switch_table, cluster, hosts };
    Kind kind;
    std::uint32_t line;
    std::uint32_t name_line = 0;
    std::string name{};  ///< not of hosts
    std::optional<Located<std::string>> parent{};
    NetworkEdge edge{};                ///< not of hosts
    TomlHosts hosts{};                 ///< not of a switch
    std::vector<IpPrefix> prefixes{};  ///< of a cluster
    std::vector<std::uint32_t> prefix_lines{};
};

/// In the order of the file.
[[nodiscard]] std::vector<TomlTable> read_topology_tables(TomlReader& top, PrefixesAre prefixes);

}  // namespace headway

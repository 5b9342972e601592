// SPDX-License-Identifier: Apache-2.0
// A network's file by itself, as the command line reads and writes it: the tables of
// headway.toml that describe the network (config/topology_toml.hpp).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_error.hpp"
#include "config/topology_toml.hpp"
#include "network/network_tree.hpp"

namespace headway {

/// Reads the network of a whole headway.toml and ignores the file's other tables.
[[nodiscard]] FileResult<TomlTopology> parse_topology_toml(std::string_view text,
                                                           std::string_view file);

/// The delay of the one cable that is both trunks of a star of two clusters; the tree has it at the
/// first of them.  None: it is another network.
[[nodiscard]] std::optional<std::chrono::nanoseconds> delay_of_cable(const NetworkTree& tree);

/// A file that parse_topology_toml() reads as the same network.
[[nodiscard]] std::string write_topology_toml(const NetworkTree& tree);

}  // namespace headway

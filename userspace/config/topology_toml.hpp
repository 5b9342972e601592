// SPDX-License-Identifier: Apache-2.0
// The network as headway.toml says it; see Documentation/headway.toml.5.
//
// Two forms.  A star: [[cluster]] tables alone, each with a trunk to an unnamed
// centre.  A tree: [[switch]] tables, [[cluster]] and [[hosts]] tables that name
// their parents.
#pragma once

#include <optional>
#include <vector>

#include "base/file_error.hpp"
#include "network/network_items.hpp"

namespace headway {

class TomlReader;  // its header has all of toml++

/// The name of a star's centre if no cluster is the centre.
inline constexpr const char* star_centre = "centre";

struct TomlTopology {
    std::vector<NetworkItem> network;  ///< without mistakes
    tl::expected<Topology, FileError> clusters;  ///< as the planner knows it, or why it cannot
};

/// A status answer with so many clusters fits into a datagram.
inline constexpr std::size_t clusters_max = 128;

enum class PrefixesAre { required, optional };

/// The tables of the network out of a whole file; mistakes go to the reader.
/// Nothing if there are any.
[[nodiscard]] std::optional<TomlTopology> read_topology(TomlReader& top, PrefixesAre prefixes);

}  // namespace headway

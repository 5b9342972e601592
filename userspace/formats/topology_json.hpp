// SPDX-License-Identifier: Apache-2.0
// A network as one JSON object, for programs: Documentation, headway(1).
#pragma once

#include <nlohmann/json.hpp>

#include "network/network_tree.hpp"

namespace headway {

/// Nodes with their links, and what an all-to-all of all hosts is limited by.
[[nodiscard]] nlohmann::json network_json(const NetworkTree& tree);

}  // namespace headway

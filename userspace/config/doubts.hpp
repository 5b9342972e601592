// SPDX-License-Identifier: Apache-2.0
// What a description of a network says that is possible, and yet hardly meant: a value in another
// unit, a zero too many.  Nothing is refused for it.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "network/network_tree.hpp"

namespace headway {

/// Sentences, one for each kind of doubt, with what should be looked at.
[[nodiscard]] std::vector<std::string> doubts_of(const NetworkTree& tree);
[[nodiscard]] std::vector<std::string> doubts_of(const PolicyConfig& policy);

}  // namespace headway

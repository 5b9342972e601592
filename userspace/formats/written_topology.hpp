// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "network/network_tree.hpp"

namespace headway {

/// A text, and in sentences what of the network it does not say.
struct WrittenTopology {
    std::string text;
    std::vector<std::string> losses;
};

enum class DelaysAre { said, lost };

/// Adds what no format but ours says: buffers, prefixes and perhaps delays.
void note_losses(const NetworkTree& tree, std::string_view format, DelaysAre delays,
                 WrittenTopology& written);

}  // namespace headway

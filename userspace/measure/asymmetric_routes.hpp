// SPDX-License-Identifier: Apache-2.0
// Whether frames between two hosts take the same way there and back.  Half a round trip is taken for
// the time of one way, of which the tree is made, and a host is taken to have one link.
//
// Routers are counted by what they take of the hop limit.  Ways that differ among switches alone, which
// take nothing of it, cannot be told apart.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/laboratory.hpp"

namespace headway {

/// What is wrong if more routers are passed one way than the other, or nothing; of the first such pair, and how many
/// others there are.  `names` are the hosts'.
[[nodiscard]] std::optional<std::string> routes_that_differ(std::span<const SeenRoute> routes,
                                                            const std::vector<std::string>& names);

/// Of each host that some frames enter by another interface than that by which those to their sender leave: a sentence.
[[nodiscard]] std::vector<std::string> interfaces_that_differ(std::span<const SeenRoute> routes,
                                                              const std::vector<std::string>& names);

}  // namespace headway

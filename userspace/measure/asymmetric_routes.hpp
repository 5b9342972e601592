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

/// Tells of the first pair whose frames pass more routers one way than the other, and how many such
/// pairs there are besides; none: no pair is like that.  `names` are the hosts'.
[[nodiscard]] std::optional<std::string> routes_that_differ(std::span<const SeenRoute> routes,
                                                            const std::vector<std::string>& names);

/// Writes a sentence for each host that some frames enter by another interface than the one by
/// which frames to their sender leave.
[[nodiscard]] std::vector<std::string> interfaces_that_differ(std::span<const SeenRoute> routes,
                                                              const std::vector<std::string>& names);

}  // namespace headway

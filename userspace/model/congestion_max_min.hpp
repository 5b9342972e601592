// SPDX-License-Identifier: Apache-2.0
// Bidirectional max-min fairness, by progressive filling.  Inner part of
// congestion.hpp, which says what it is.
//
// All links that still grow have the same bandwidth, the level.  A resource with
// `growing` users, whose other users have stopped at `stopped` in all, is full
// at the level
//     (capacity - stopped) / growing
// which rises when one of its users is stopped by another resource.  So a heap
// of these levels, corrected when an entry comes to its top, gives the resources
// in the order in which they fill.
#pragma once

#include <vector>

#include "model/congestion.hpp"

namespace headway {

/// The pattern has been checked.
[[nodiscard]] std::vector<double> congestion_max_min(const CongestionPattern& pattern);

}  // namespace headway

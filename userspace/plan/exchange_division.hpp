// SPDX-License-Identifier: Apache-2.0
// Dividing links among the messages of an exchange so that all of them end at the
// same moment, the earliest that every link allows.  Inner part of planner.hpp,
// traffic_plan.hpp and ring_plan.hpp.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/rate.hpp"
#include "plan/collective.hpp"

namespace headway {

/// rates[i][c]: of a host of group i towards cluster c, bytes of wire time per
/// second; none: not limited.
using ExchangeRates = std::vector<std::vector<std::optional<BytesPerSecond>>>;

/// The earliest moment at which every link can have carried everything, and the
/// link that takes until then.
struct EarliestEnd {
    double end_s = 0;
    std::optional<std::size_t> link;  ///< none: nothing is sent
};

[[nodiscard]] EarliestEnd earliest_end(const FluidNetwork& network);

/// What each class needs for all messages to end after that time.  `network` is
/// the exchange's own.
[[nodiscard]] ExchangeRates rates_for_end(const Topology& topology, const Exchange& exchange,
                                          const ExchangeNetwork& network, double end_s);

/// Of each link of the network, whether the hosts that use it can put more into it
/// than it carries.
[[nodiscard]] std::vector<bool> contended_links(const Topology& topology,
                                                const Exchange& exchange,
                                                const ExchangeNetwork& network);

/// Some class's share is less than the slowest rate there is.
[[nodiscard]] bool has_zero_rate(const ExchangeRates& rates);

}  // namespace headway

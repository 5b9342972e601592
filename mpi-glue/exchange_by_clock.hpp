// SPDX-License-Identifier: MIT
// The exchanges of exchange.hpp and rooted_exchange.hpp where each rank paces itself (clocked_call.hpp).  Of blocks that are in
// place, or whose types are not contiguous, a copy is made; the ranks go by no clock in calls after one that had such.
#pragma once

#include "clocked_call.hpp"
#include "exchange.hpp"
#include "rooted_exchange.hpp"

namespace headway::glue {

[[nodiscard]] bool needs_copies(const Exchange& exchange, const OwnCall& call) noexcept;
[[nodiscard]] bool needs_copies(const RootedExchange& exchange, const OwnCall& call) noexcept;

[[nodiscard]] ClockedOutcome exchange_by_clock(const Exchange& exchange, const ClockedPlace& place, const CallRates& rates,
                                               const OwnCall& call) noexcept;
[[nodiscard]] ClockedOutcome rooted_by_clock(const RootedExchange& exchange, const ClockedPlace& place,
                                             const CallRates& rates, const OwnCall& call) noexcept;

}  // namespace headway::glue

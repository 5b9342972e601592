// SPDX-License-Identifier: Apache-2.0
// The readers of headway.toml's tables [coordination] and [feedback].  Mistakes are
// kept in the reader, with their lines.  What tables have in common is read by one function.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "trunk/coordination_config.hpp"

namespace headway {

/// What the factor of divisors may be, by which plans learn from losses: "[feedback]" of headway.toml.
struct FeedbackBounds {
    std::uint32_t divisor_factor_max_thousandths = 1'500;  ///< divisor_one .. divisor_factor_max
    double retransmitted_max = 0.01;  ///< of the segments, above 0 and up to 1
    std::chrono::seconds quiet{60};

    friend bool operator==(const FeedbackBounds&, const FeedbackBounds&) = default;
};

class TomlReader;  // its header has all of toml++

/// "share" of any table: the jobs' own, if it is not there.
[[nodiscard]] SharePolicy read_share(TomlReader& reader);

/// None: via = "none", or a mistake.
[[nodiscard]] std::optional<CoordinationConfig> read_coordination(TomlReader& reader);

/// None: not enabled.
[[nodiscard]] std::optional<FeedbackBounds> read_feedback(TomlReader& reader);

}  // namespace headway

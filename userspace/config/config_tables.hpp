// SPDX-License-Identifier: Apache-2.0
// The readers of headway.toml's tables [coordination] and [feedback].  Mistakes are
// kept in the reader, with their lines.  What tables have in common is read by one function.
#pragma once

#include <optional>

#include "feedback/divisor_control.hpp"
#include "trunk/coordination_config.hpp"

namespace headway {

class TomlReader;  // its header has all of toml++

/// "share" of any table: the jobs' own, if it is not there.
[[nodiscard]] SharePolicy read_share(TomlReader& reader);

/// None: via = "none", or a mistake.
[[nodiscard]] std::optional<CoordinationConfig> read_coordination(TomlReader& reader);

/// None: not enabled.
[[nodiscard]] std::optional<FeedbackBounds> read_feedback(TomlReader& reader);

}  // namespace headway

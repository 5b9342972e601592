// SPDX-License-Identifier: Apache-2.0
// The readers of headway.toml's tables [coordination] and [feedback].  Mistakes are
// kept in the reader, with their lines.
#pragma once

#include <optional>

#include "feedback/divisor_control.hpp"
#include "trunk/coordination_config.hpp"

namespace headway {

class TomlReader;  // its header has all of toml++

/// None: via = "none", or a mistake.
[[nodiscard]] std::optional<CoordinationConfig> read_coordination(TomlReader& reader);

/// None: not enabled.
[[nodiscard]] std::optional<FeedbackBounds> read_feedback(TomlReader& reader);

}  // namespace headway

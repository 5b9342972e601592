// SPDX-License-Identifier: Apache-2.0
// "[feedback]" of headway.toml.
#pragma once

#include <optional>

#include "feedback/divisor_control.hpp"

namespace headway {

class TomlReader;  // its header has all of toml++

/// None: not enabled.
[[nodiscard]] std::optional<FeedbackBounds> read_feedback(TomlReader& reader);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// "[feedback]" of headway.toml.
#pragma once

#include <optional>

#include "feedback/divisor_control.hpp"
#include "formats/toml_reader.hpp"

namespace headway {

/// None: not enabled.
[[nodiscard]] std::optional<FeedbackBounds> read_feedback(TomlReader& reader);

}  // namespace headway

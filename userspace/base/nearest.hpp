// SPDX-License-Identifier: Apache-2.0
// What somebody meant who has mistyped a word.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headway {

/// Returns the known word of which `word` is a beginning, if there is one, or the one that is a few
/// letters away from it; none: a hint would puzzle.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

/// "did you mean X?", or "known here: X, Y".
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace headway {

/// "1ms", "0.5ms", "250us", "2s", "40ns": at most 1000 s.  A unit is needed.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// Exactly, in the largest unit that needs no fraction: "10ms"; zero is "0s".
[[nodiscard]] std::string duration_to_text(std::chrono::nanoseconds duration);

}  // namespace headway

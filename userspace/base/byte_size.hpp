// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace headway {

/// "1500B", "64kB" (1000), "512KiB" (1024), "1.5MiB", up to "1TiB".  A unit is
/// needed.
[[nodiscard]] Result<std::uint64_t> parse_byte_size(std::string_view text);

/// Exactly, in the largest unit that needs no fraction: "512KiB"; zero is "0B".
[[nodiscard]] std::string byte_size_to_text(std::uint64_t bytes);

}  // namespace headway

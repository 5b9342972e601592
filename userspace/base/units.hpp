// SPDX-License-Identifier: Apache-2.0
// Exact reading of a decimal number with a unit ("64kB", "500us"; base/rate.hpp has rates)
// as an integer number of the smallest unit.  No floating point: what a user wrote is what
// the planner divides.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace headway {

/// Whatever the locale.
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct DecimalUnit {
    std::string_view name;  ///< as it is written; "" stands for a number without a unit
    std::uint64_t factor;   ///< how many of the smallest unit it is
};

/// Reads `text` as a number and one of `units` (in any case, blanks between
/// number and unit allowed).  Fails if it is no number, negative, has an
/// unknown unit, is no whole number of the smallest unit or exceeds 2^64-1.
[[nodiscard]] Result<std::uint64_t> parse_decimal(std::string_view text,
                                                  std::span<const DecimalUnit> units);

/// Exactly, in the largest unit that needs no fraction, zero in the smallest.  One of the
/// named units is 1.
[[nodiscard]] std::string decimal_to_text(std::uint64_t number, std::span<const DecimalUnit> units);

/// Whatever the locale.
[[nodiscard]] std::string lower_case(std::string_view text);

/// "1500B", "64kB" (1000), "512KiB" (1024), "1.5MiB", up to "1TiB".  A unit is
/// needed.
[[nodiscard]] Result<std::uint64_t> parse_byte_size(std::string_view text);

/// Exactly, in the largest unit that needs no fraction: "512KiB"; zero is "0B".
[[nodiscard]] std::string byte_size_to_text(std::uint64_t bytes);

/// "1ms", "0.5ms", "250us", "2s", "40ns": at most 1000 s.  A unit is needed.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// Exactly, in the largest unit that needs no fraction: "10ms"; zero is "0s".
[[nodiscard]] std::string duration_to_text(std::chrono::nanoseconds duration);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// Exact reading of a decimal number with a unit ("25mbit", "64kB", "500us") as an integer
// number of the smallest unit.  No floating point: what a user wrote is what the planner
// divides.
//
// Rates are of wire time.  People write and read bits per second in tc's decimal
// units; the kernel counts whole bytes per second.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include <linux/pkt_sched_gap.h>

#include "base/error.hpp"

namespace headway {

/// Does not depend on the locale.
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Capacity of a link as people write it.  From parse_rate(): 8 .. 8e12.
struct BitsPerSecond {
    std::uint64_t value = 0;
    friend auto operator<=>(const BitsPerSecond&, const BitsPerSecond&) = default;
};

/// Rate of a class as the kernel takes it.  The planner rounds down to it, so
/// that rates that share a link never add up to more than the link.
struct BytesPerSecond {
    std::uint64_t value = 0;
    friend auto operator<=>(const BytesPerSecond&, const BytesPerSecond&) = default;

    [[nodiscard]] constexpr BitsPerSecond bits() const { return {value * 8}; }
};

/// Models use fractions as rates.
[[nodiscard]] constexpr double bytes_per_s(BitsPerSecond rate) {
    return static_cast<double>(rate.value) / 8;
}

inline constexpr BitsPerSecond rate_max{GAP_RATE_MAX * 8};

/// "25mbit", "2.5Gbit", "25 Mbit/s": tc's decimal units bit, kbit, mbit, gbit, tbit in any case, one
/// of which is needed.  8bit .. 1.6tbit, whole bits only.
[[nodiscard]] Result<BitsPerSecond> parse_rate(std::string_view text);

/// Exactly, in the largest unit that needs no fraction: what parse_rate() and
/// tc read back as the same number ("25mbit", "6187496bit").
[[nodiscard]] std::string rate_to_tc(BitsPerSecond rate);

/// Writes a rate for people, with at least four significant digits ("6.187 Mbit/s", "25 Mbit/s").
[[nodiscard]] std::string rate_to_text(BitsPerSecond rate);

/// "1500B", "64kB" (1000), "512KiB" or "512K" (1024), "1.5MiB", up to "1TiB".  A unit is needed.
[[nodiscard]] Result<std::uint64_t> parse_byte_size(std::string_view text);

/// Exactly, in the largest unit that needs no fraction: "512KiB"; zero is "0B".
[[nodiscard]] std::string byte_size_to_text(std::uint64_t bytes);

/// "1ms", "0.5ms", "250us" or "250µs", "2s", "40ns": at most 1000 s.  A unit is needed.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// Exactly, in the largest unit that needs no fraction: "10ms"; zero is "0s".
[[nodiscard]] std::string duration_to_text(std::chrono::nanoseconds duration);

}  // namespace headway

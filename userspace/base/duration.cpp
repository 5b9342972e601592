// SPDX-License-Identifier: Apache-2.0
#include "base/duration.hpp"

#include <array>

#include "base/decimal.hpp"

namespace headway {
namespace {

constexpr std::array<DecimalUnit, 4> duration_units{{
    {"s", 1'000'000'000},
    {"ms", 1'000'000},
    {"us", 1'000},
    {"ns", 1},
}};

constexpr std::chrono::nanoseconds duration_max = std::chrono::seconds(1000);

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
    const auto count = parse_decimal(text, duration_units);
    if (!count) return tl::unexpected(count.error());
    if (*count > static_cast<std::uint64_t>(duration_max.count())) {
        return failure("\"{}\" is longer than {}", text, duration_to_text(duration_max));
    }
    return std::chrono::nanoseconds(*count);
}

std::string duration_to_text(std::chrono::nanoseconds duration) {
    if (duration.count() == 0) return "0s";
    return decimal_to_text(static_cast<std::uint64_t>(duration.count()), duration_units);
}

}  // namespace headway

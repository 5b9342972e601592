// SPDX-License-Identifier: Apache-2.0
#include "base/rate.hpp"

#include <algorithm>
#include <array>

#include "base/units.hpp"

namespace headway {
namespace {

constexpr std::array<DecimalUnit, 6> rate_units{{
    {"", 1},  // tc, too, takes a bare number for bits per second
    {"bit", 1},
    {"kbit", 1'000},
    {"Mbit", 1'000'000},
    {"Gbit", 1'000'000'000},
    {"Tbit", 1'000'000'000'000},
}};

}  // namespace

Result<BitsPerSecond> parse_rate(std::string_view text) {
    const auto bits = parse_decimal(text, rate_units);
    if (!bits) return tl::unexpected(bits.error());
    const BitsPerSecond rate{*bits};
    if (rate.value < 8 || rate > rate_max) {
        return failure("\"{}\" is outside 8bit .. {}", text, rate_to_tc(rate_max));
    }
    return rate;
}

std::string rate_to_tc(BitsPerSecond rate) {
    return lower_case(decimal_to_text(rate.value, rate_units));
}

std::string rate_to_text(BitsPerSecond rate) {
    const auto bits = rate_units.rend() - 2;  // of rates that no larger unit fits
    const auto unit = std::find_if(rate_units.rbegin(), bits, [&](const DecimalUnit& larger) {
        return larger.factor <= rate.value;
    });
    // Thousandths, cut off rather than rounded: a limit is never told too high.
    const std::uint64_t thousandths = rate.value % unit->factor * 1000 / unit->factor;
    std::string number = fmt::format("{}.{:03}", rate.value / unit->factor, thousandths);
    number.erase(number.find_last_not_of('0') + 1);
    if (number.ends_with('.')) number.pop_back();
    return fmt::format("{} {}/s", number, unit->name);
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "base/rate.hpp"

#include <array>

#include "base/decimal.hpp"

namespace headway {
namespace {

struct RateUnit {
    std::string_view tc_name;
    std::string_view text;
    std::uint64_t bits_per_s;
};

constexpr std::array<RateUnit, 5> rate_units{{
    {"tbit", "Tbit/s", 1'000'000'000'000},
    {"gbit", "Gbit/s", 1'000'000'000},
    {"mbit", "Mbit/s", 1'000'000},
    {"kbit", "kbit/s", 1'000},
    {"bit", "bit/s", 1},
}};

constexpr std::array<DecimalUnit, 6> read_units{{
    {"bit", 1},
    {"kbit", 1'000},
    {"mbit", 1'000'000},
    {"gbit", 1'000'000'000},
    {"tbit", 1'000'000'000'000},
    {"", 1},  // tc, too, takes a bare number for bits per second
}};

}  // namespace

Result<BitsPerSecond> parse_rate(std::string_view text) {
    const auto bits = parse_decimal(text, read_units);
    if (!bits) return tl::unexpected(bits.error());
    const BitsPerSecond rate{*bits};
    if (rate.value < 8 || rate > rate_max) {
        return failure("\"{}\" is outside 8bit .. {}", text, rate_to_tc(rate_max));
    }
    return rate;
}

std::string rate_to_tc(BitsPerSecond rate) {
    for (const RateUnit& unit : rate_units) {
        if (rate.value != 0 && rate.value % unit.bits_per_s == 0) {
            return fmt::format("{}{}", rate.value / unit.bits_per_s, unit.tc_name);
        }
    }
    return "0bit";
}

std::string rate_to_text(BitsPerSecond rate) {
    for (const RateUnit& unit : rate_units) {
        if (rate.value < unit.bits_per_s) continue;
        // Thousandths, cut off rather than rounded: a limit is never told too high.
        const std::uint64_t thousandths =
            unit.bits_per_s == 1 ? 0 : rate.value % unit.bits_per_s / (unit.bits_per_s / 1000);
        std::string number = fmt::format("{}.{:03}", rate.value / unit.bits_per_s, thousandths);
        number.erase(number.find_last_not_of('0') + 1);
        if (number.ends_with('.')) number.pop_back();
        return fmt::format("{} {}", number, unit.text);
    }
    return "0 bit/s";
}

}  // namespace headway

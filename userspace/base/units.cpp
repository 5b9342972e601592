// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace headway {
namespace {

using Wide = unsigned __int128;

struct DecimalUnit {
    std::string_view name;  ///< as it is written
    std::uint64_t factor;   ///< how many of the smallest unit it is
};

constexpr std::size_t digits_max = 19;  // fits into 64 bits whatever the digits are

std::string_view take_digits(std::string_view& text) {
    const auto digits = text.substr(0, text.find_first_not_of("0123456789"));
    text.remove_prefix(digits.size());
    return digits;
}

std::uint64_t to_number(std::string_view digits) {
    std::uint64_t number = 0;
    for (const char c : digits) number = number * 10 + static_cast<std::uint64_t>(c - '0');
    return number;
}

/// Writes small letters, whatever the locale.
std::string lower_case(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return result;
}

std::string list_units(std::span<const DecimalUnit> units) {
    std::string list;
    for (const DecimalUnit& unit : units) list += (list.empty() ? "" : ", ") + lower_case(unit.name);
    return list;
}

/// Reads `text` as a number and one of `units` (in any case, blanks between
/// number and unit allowed).  Fails if it is no number, negative, has an
/// unknown unit, is no whole number of the smallest unit or exceeds 2^64-1.
Result<std::uint64_t> parse_decimal(std::string_view text, std::span<const DecimalUnit> units) {
    std::string_view rest = text;
    const std::string_view whole = take_digits(rest);
    std::string_view fraction;
    if (rest.starts_with('.')) {
        rest.remove_prefix(1);
        fraction = take_digits(rest);
        if (fraction.empty()) return failure("\"{}\" has no digit after the point", text);
    }
    if (whole.empty()) return failure("\"{}\" does not start with a number", text);
    if (whole.size() + fraction.size() > digits_max) {
        return failure("\"{}\" has more than {} digits", text, digits_max);
    }
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));

    const std::string name = lower_case(rest);
    const auto unit = std::ranges::find_if(
        units, [&](const DecimalUnit& one) { return lower_case(one.name) == name; });
    if (unit == units.end()) {
        if (name.empty()) return failure("\"{}\" has no unit (one of {})", text, list_units(units));
        return failure("\"{}\" has an unknown unit \"{}\" (known: {})", text, rest,
                       list_units(units));
    }

    Wide divisor = 1;
    for (std::size_t i = 0; i < fraction.size(); ++i) divisor *= 10;
    const Wide scaled = (Wide{to_number(whole)} * divisor + to_number(fraction)) * unit->factor;
    if (scaled % divisor != 0) return failure("\"{}\" is finer than can be set", text);
    if (scaled / divisor > std::numeric_limits<std::uint64_t>::max()) {
        return failure("\"{}\" is too large", text);
    }
    return static_cast<std::uint64_t>(scaled / divisor);
}

/// Exactly, in the largest unit that needs no fraction, zero in the smallest; of two names of a unit,
/// by the first.  One of the units is 1.
std::string decimal_to_text(std::uint64_t number, std::span<const DecimalUnit> units) {
    const DecimalUnit* largest = nullptr;
    for (const DecimalUnit& unit : units) {
        const bool fits = number == 0 ? unit.factor == 1 : number % unit.factor == 0;
        if (!fits) continue;
        if (largest == nullptr || unit.factor > largest->factor) largest = &unit;
    }
    return fmt::format("{}{}", number / largest->factor, largest->name);
}

// tc takes a bare number for bits per second; others mean Mbit/s by it.
constexpr std::array<DecimalUnit, 5> rate_units{{
    {"bit", 1},
    {"kbit", 1'000},
    {"Mbit", 1'000'000},
    {"Gbit", 1'000'000'000},
    {"Tbit", 1'000'000'000'000},
}};

constexpr std::uint64_t size_max_bytes = 1ULL << 40;

constexpr std::array<DecimalUnit, 13> size_units{{{"B", 1},
                                                 {"kB", 1'000},
                                                 {"KiB", 1ULL << 10},
                                                 {"MB", 1'000'000},
                                                 {"MiB", 1ULL << 20},
                                                 {"GB", 1'000'000'000},
                                                 {"GiB", 1ULL << 30},
                                                 {"TB", 1'000'000'000'000},
                                                 {"TiB", 1ULL << 40},
                                                 {"K", 1ULL << 10},
                                                 {"M", 1ULL << 20},
                                                 {"G", 1ULL << 30},
                                                 {"T", 1ULL << 40}}};

constexpr std::array<DecimalUnit, 5> duration_units{{
    {"s", 1'000'000'000},
    {"ms", 1'000'000},
    {"us", 1'000},
    {"ns", 1},
    {"µs", 1'000},
}};

constexpr std::chrono::nanoseconds duration_max = std::chrono::seconds(1000);

}  // namespace

Result<BitsPerSecond> parse_rate(std::string_view text) {
    // as rates are printed, "25 Mbit/s"
    const auto bits = parse_decimal(text.ends_with("/s") ? text.substr(0, text.size() - 2) : text, rate_units);
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
    const auto bits = rate_units.rend() - 1;  // of rates that no larger unit fits
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

Result<std::uint64_t> parse_byte_size(std::string_view text) {
    auto bytes = parse_decimal(text, size_units);
    if (bytes && *bytes > size_max_bytes) return failure("\"{}\" is more than 1TiB", text);
    return bytes;
}

std::string byte_size_to_text(std::uint64_t bytes) { return decimal_to_text(bytes, size_units); }

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

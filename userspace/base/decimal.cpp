// SPDX-License-Identifier: Apache-2.0
#include "base/decimal.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace headway {
namespace {

using Wide = unsigned __int128;

constexpr std::size_t digits_max = 19;  // fits into 64 bits whatever the digits are

std::string_view take_digits(std::string_view& text) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(digits.size());
    return digits;
}

std::uint64_t to_number(std::string_view digits) {
    std::uint64_t number = 0;
    for (const char c : digits) number = number * 10 + static_cast<std::uint64_t>(c - '0');
    return number;
}

std::string list_units(std::span<const DecimalUnit> units) {
    std::string list;
    for (const DecimalUnit& unit : units) {
        if (unit.name.empty()) continue;
        if (!list.empty()) list += ", ";
        list += lower_case(unit.name);
    }
    return list;
}

}  // namespace

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

std::string decimal_to_text(std::uint64_t number, std::span<const DecimalUnit> units) {
    const DecimalUnit* largest = nullptr;
    for (const DecimalUnit& unit : units) {
        const bool fits = number == 0 ? unit.factor == 1 : number % unit.factor == 0;
        if (!fits || unit.name.empty()) continue;
        if (largest == nullptr || unit.factor > largest->factor) largest = &unit;
    }
    return fmt::format("{}{}", number / largest->factor, largest->name);
}

std::string lower_case(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return result;
}

}  // namespace headway

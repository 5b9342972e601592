// SPDX-License-Identifier: Apache-2.0
#include "formats/simgrid_units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "base/text_lines.hpp"

namespace headway {
namespace {

struct Unit {
    std::string_view name;
    double factor;
};

constexpr std::array<Unit, 9> latency_units{{{"s", 1e9},
                                             {"", 1e9},
                                             {"ms", 1e6},
                                             {"us", 1e3},
                                             {"ns", 1},
                                             {"ps", 1e-3},
                                             {"m", 60e9},
                                             {"h", 3600e9},
                                             {"d", 86400e9}}};
constexpr double latency_max_ns = 1000e9;

/// Cuts the number off; what is left of `text` is the unit.
std::optional<double> take_number(std::string_view& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// Bits per second that one of the unit is: prefix, 'B' or 'b', "ps".
std::optional<double> bandwidth_factor(std::string_view unit) {
    if (unit.empty()) return 8;
    if (!unit.ends_with("Bps") && !unit.ends_with("bps")) return std::nullopt;
    const double bits = unit[unit.size() - 3] == 'B' ? 8 : 1;
    const std::string_view prefix = unit.substr(0, unit.size() - 3);
    constexpr std::array<Unit, 10> prefixes{{{"", 1},
                                             {"k", 1e3},
                                             {"M", 1e6},
                                             {"G", 1e9},
                                             {"T", 1e12},
                                             {"Ki", 1024.0},
                                             {"Mi", 1048576.0},
                                             {"Gi", 1073741824.0},
                                             {"Ti", 1099511627776.0},
                                             {"K", 1e3}}};
    for (const Unit& known : prefixes) {
        if (known.name == prefix) return bits * known.factor;
    }
    return std::nullopt;
}

}  // namespace

Result<BitsPerSecond> parse_simgrid_bandwidth(std::string_view text) {
    std::string_view unit = text;
    const auto number = take_number(unit);
    if (!number) return failure("{} does not start with a number", in_quotes(text));
    const auto factor = bandwidth_factor(unit);
    if (!factor) return failure("{} has an unknown unit of bandwidth", in_quotes(text));
    const double bits = std::round(*number * *factor);
    if (!(bits >= 8 && bits <= static_cast<double>(rate_max.value))) {
        return failure("{} is outside 8bps .. {}", in_quotes(text), simgrid_bandwidth(rate_max));
    }
    return BitsPerSecond{static_cast<std::uint64_t>(bits)};
}

Result<std::chrono::nanoseconds> parse_simgrid_latency(std::string_view text) {
    std::string_view unit = text;
    const auto number = take_number(unit);
    if (!number) return failure("{} does not start with a number", in_quotes(text));
    for (const Unit& known : latency_units) {
        if (known.name != unit) continue;
        const double ns = std::round(*number * known.factor);
        if (ns > latency_max_ns) return failure("{} is longer than 1000s", in_quotes(text));
        return std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
    }
    return failure("{} has an unknown unit of time", in_quotes(text));
}

std::string simgrid_bandwidth(BitsPerSecond rate) {
    struct Written {
        const char* name;
        std::uint64_t bits;
    };
    constexpr std::array<Written, 4> units{{{"Tbps", 1'000'000'000'000},
                                            {"Gbps", 1'000'000'000},
                                            {"Mbps", 1'000'000},
                                            {"kbps", 1'000}}};
    for (const Written& unit : units) {
        if (rate.value != 0 && rate.value % unit.bits == 0) {
            return fmt::format("{}{}", rate.value / unit.bits, unit.name);
        }
    }
    return fmt::format("{}bps", rate.value);
}

}  // namespace headway

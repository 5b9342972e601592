// SPDX-License-Identifier: Apache-2.0
#include "daemon/feedback_config.hpp"

#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "formats/toml_reader.hpp"

namespace headway {
namespace {

constexpr std::int64_t quiet_max_s = 86'400;

bool read_enabled(TomlReader& reader) {
    const toml::node* node = reader.find("enabled");
    if (node == nullptr) return false;
    if (const auto* flag = node->as_boolean()) return flag->get();
    reader.error(node->source().begin.line, "enabled", "it is neither true nor false",
                 "write enabled = true, or false (default), without quotes");
    return false;
}

void read_factor(TomlReader& reader, FeedbackBounds& bounds) {
    constexpr std::uint32_t largest = divisor_factor_max / divisor_one;
    const auto factor = reader.number(
        "divisor_factor_max",
        {1, largest, "how many times more each link may be divided",
         fmt::format("write a number 1 .. {} without quotes (default 1.5)", largest)});
    if (!factor) return;
    bounds.divisor_factor_max_thousandths =
        static_cast<std::uint32_t>(std::lround(*factor * divisor_one));
}

void read_retransmitted(TomlReader& reader, FeedbackBounds& bounds) {
    const auto part = reader.number(
        "retransmitted_max",
        {std::numeric_limits<double>::min(), 1, "the part of the segments that may be sent again",
         "write a number above 0 and up to 1, without quotes (default 0.01)"});
    if (part) bounds.retransmitted_max = *part;
}

}  // namespace

std::optional<FeedbackBounds> read_feedback(TomlReader& reader) {
    FeedbackBounds bounds;
    const bool is_enabled = read_enabled(reader);
    read_factor(reader, bounds);
    read_retransmitted(reader, bounds);
    if (const auto quiet = reader.integer("quiet_s")) {
        if (quiet->value < 1 || quiet->value > quiet_max_s) {
            reader.error(quiet->line, "quiet_s", fmt::format("{} is out of range", quiet->value),
                         fmt::format("write 1 .. {} (default 60)", quiet_max_s));
        } else {
            bounds.quiet = std::chrono::seconds(quiet->value);
        }
    }
    reader.finish();
    return is_enabled ? std::optional(bounds) : std::nullopt;
}

}  // namespace headway

// SPDX-License-Identifier: MIT
#include "settings.hpp"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace headway::glue {
namespace {

constexpr int timeout_max_ms = 60'000;

std::optional<std::string_view> lookup(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

std::string not_understood(const char* name, std::string_view value, std::string_view expected) {
    return std::string(name) + "=" + std::string(value) + " is not understood, expected " +
           std::string(expected);
}

void read_switch(const char* name, bool& target, std::vector<std::string>& complaints) {
    const auto value = lookup(name);
    if (!value) return;
    if (*value == "on" || *value == "1" || *value == "yes") {
        target = true;
    } else if (*value == "off" || *value == "0" || *value == "no") {
        target = false;
    } else {
        complaints.push_back(not_understood(name, *value, "on or off"));
    }
}

void read_timeout(Settings& settings) {
    constexpr const char* name = "HEADWAY_TIMEOUT_MS";
    const auto value = lookup(name);
    if (!value) return;
    int milliseconds = 0;
    const auto [end, error] =
        std::from_chars(value->data(), value->data() + value->size(), milliseconds);
    if (error != std::errc{} || end != value->data() + value->size() || milliseconds < 1 ||
        milliseconds > timeout_max_ms) {
        settings.complaints.push_back(not_understood(name, *value, "1 to 60000"));
        return;
    }
    settings.timeout = std::chrono::milliseconds(milliseconds);
}

/// One of two words, of which `second` switches `target` on.
void read_word(const char* name, const char* first, const char* second, bool& target,
               std::vector<std::string>& complaints) {
    const auto value = lookup(name);
    if (!value) return;
    if (*value == first || *value == second) {
        target = *value == second;
    } else {
        complaints.push_back(
            not_understood(name, *value, std::string(second) + " or " + first));
    }
}

}  // namespace

std::string agreed_version(const Settings& settings) {
    std::string version = HEADWAY_VERSION;
    const auto add = [&](const char* name, bool is_on) { version += is_on ? name : ""; };
    add("+algorithm", settings.algorithm);
    add("+disjoint", settings.siblings_disjoint);
    add("+any-order", settings.any_reduction_order);
    add("+pattern", !settings.pattern_file.empty());
    add("+record", lookup("HEADWAY_RECORD").has_value());
    return version;
}

Settings read_settings() {
    Settings settings;
    read_switch("HEADWAY", settings.enabled, settings.complaints);
    read_switch("HEADWAY_TRANSPORT", settings.transport, settings.complaints);
    read_switch("HEADWAY_ALGORITHM", settings.algorithm, settings.complaints);
    read_switch("HEADWAY_ALL_RANKS", settings.all_ranks, settings.complaints);
    read_switch("HEADWAY_VERBOSE", settings.verbose, settings.complaints);
    read_word("HEADWAY_SIBLINGS", "overlap", "disjoint", settings.siblings_disjoint,
              settings.complaints);
    read_word("HEADWAY_REDUCTION_ORDER", "same", "any", settings.any_reduction_order,
              settings.complaints);
    read_timeout(settings);
    if (const auto path = lookup("HEADWAY_SOCKET")) settings.socket_path = *path;
    if (const auto path = lookup("HEADWAY_PATTERN")) settings.pattern_file = *path;
    return settings;
}

}  // namespace headway::glue

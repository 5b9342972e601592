// SPDX-License-Identifier: MIT
#include "settings.hpp"

#include <limits>
#include <string_view>

namespace headway::glue {
namespace {

void read_report(Settings& settings) {
    const auto value = environment_value("HEADWAY_REPORT");
    if (!value) return;
    if (*value == "summary" || value->ends_with(".json")) {
        settings.report = *value;
    } else {
        settings.complaints.push_back("HEADWAY_REPORT=" + std::string(*value) +
                                      " is not understood, expected summary or FILE.json");
    }
}

}  // namespace

std::string agreed_version(const Settings& settings) {
    std::string version = HEADWAY_VERSION;
    const auto add = [&](const char* name, bool is_on) { version += is_on ? name : ""; };
    add("+algorithm", settings.algorithm);
    add("+disjoint", settings.siblings_disjoint);
    add("+pattern", !settings.pattern_file.empty());
    add("+record", environment_value("HEADWAY_RECORD").has_value());
    return version;
}

Settings read_settings() {
    Settings settings;
    read_session_options(settings, settings.complaints);
    read_switch("HEADWAY_TRANSPORT", settings.transport, settings.complaints);
    read_switch("HEADWAY_ALGORITHM", settings.algorithm, settings.complaints);
    read_switch("HEADWAY_ALL_RANKS", settings.all_ranks, settings.complaints);
    read_number("HEADWAY_MAXRATE", 1, std::numeric_limits<int>::max(),
                settings.maxrate_kbytes_per_s, settings.complaints);
    read_report(settings);
    if (const auto path = environment_value("HEADWAY_PLANNER")) settings.planner = *path;
    if (const auto path = environment_value("HEADWAY_NETWORK")) settings.network = *path;
    if (const auto name = environment_value("HEADWAY_NODE")) settings.node = *name;
    if (const auto path = environment_value("HEADWAY_PATTERN")) settings.pattern_file = *path;
    return settings;
}

}  // namespace headway::glue

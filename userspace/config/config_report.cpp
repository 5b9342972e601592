// SPDX-License-Identifier: Apache-2.0
#include "config/config_report.hpp"

#include <fmt/core.h>

#include <cstdio>

namespace headway {

void report_config_errors(std::span<const ConfigError> errors) {
    for (const ConfigError& error : errors) fmt::print(stderr, "{}\n", error.to_string());
}

ExitStatus check_config(const std::filesystem::path& file) {
    const auto config = load_config(file);
    if (!config) {
        report_config_errors(config.error());
        return ExitStatus::bad_config;
    }
    const std::size_t clusters = config->topology.clusters().size();
    const std::size_t hosts = config->topology.host_count();
    fmt::print("{}: no mistakes: {} cluster{}, {} host{}\n", file.string(), clusters,
               clusters == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s");
    return ExitStatus::ok;
}

}  // namespace headway

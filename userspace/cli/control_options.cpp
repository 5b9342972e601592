// SPDX-License-Identifier: Apache-2.0
#include "cli/control_options.hpp"

#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "config/config.hpp"

namespace headway {

VerbOption add_config_option(const Verb& verb, std::string& file) {
    file = config_default_path;
    return verb.add_option("-c,--config", file, "configuration file").default_text(file).or_variable("HEADWAY_CONFIG");
}

void ControlOptions::add_to(const Verb& verb) {
    config_option_ = add_config_option(verb, config);
    verb.add_option("--socket", socket, "control socket (default: as the configuration says)");
}

std::string ControlOptions::path() const {
    return socket.empty() ? control_socket(config, config_option_.is_given()) : socket;
}

std::string what_paces(const nlohmann::json& daemon) {
    if (!daemon.contains("backend")) return "";
    const std::string backend = daemon.value("backend", ""), why = daemon.value("backend_reason", "");
    std::string what = backend;
    if (backend == "fq") what = "fq, without the qdisc gap";
    if (backend == "bpf") what = "a BPF qdisc, without the module sch_gap";
    if (backend == "gap") what = "gap frames";
    if (backend == "timer") what = "a timer";
    return why.empty() ? what : what + ": " + why;
}

bool is_resting(const nlohmann::json& daemon) { return daemon.value("resting", false); }

std::string control_socket(const std::string& config, bool is_named) {
    std::error_code error;
    if (!is_named && !std::filesystem::exists(config, error)) return socket_default_path;
    const NamedSocket found = find_control_socket(config);
    if (!found.trouble.empty()) {
        fmt::print(stderr, "headway: {}; the daemon is asked at {}\n", found.trouble, found.path);
    }
    return found.path;
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// Which daemon a verb talks to: --config and --socket; and what it says that it paces by.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace headway {

/// --config, with its default.
VerbOption add_config_option(const Verb& verb, std::string& file);

/// Path of the control socket, as a headway.toml says.  A file with mistakes, or none where one is
/// named, is told on stderr and stops nobody: headway off has to work just then.
[[nodiscard]] std::string control_socket(const std::string& config, bool is_named);

/// Says by what the daemon of a status's "daemon" paces, and why: "a timer: gap frames were not tested".
/// Empty: it is older, and does not tell.
[[nodiscard]] std::string what_paces(const nlohmann::json& daemon);
[[nodiscard]] bool is_resting(const nlohmann::json& daemon);

struct ControlOptions {
    std::string config;
    std::string socket;  ///< empty: as the configuration says

    void add_to(const Verb& verb);

    [[nodiscard]] std::string path() const;

private:
    VerbOption config_option_;
};

}  // namespace headway

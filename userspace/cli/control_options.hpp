// SPDX-License-Identifier: Apache-2.0
// Which daemon a verb talks to: --config and --socket.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace headway {

struct ControlOptions {
    std::string config;
    std::string socket;  ///< empty: as the configuration says

    void add_to(const Verb& verb);

    /// Path of the control socket.  A machine without /etc/headway/headway.toml has the default one.
    /// A file with mistakes, or none where --config names one, is told on stderr and stops nobody:
    /// headway off has to work just then.
    [[nodiscard]] std::string path() const;

private:
    VerbOption config_option_;
};

}  // namespace headway

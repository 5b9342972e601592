// SPDX-License-Identifier: Apache-2.0
// `headway topology check|draw|convert`: files that describe networks.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "daemon/exit_status.hpp"

namespace headway {

struct TopologyOptions {
    std::vector<std::string> files;
    std::string from;    ///< toml, slurm, simgrid; empty: by the file's name
    std::string to;
    std::string output;  ///< empty: standard output
    std::string link_speed_unit;
    std::string default_rate;
    bool json = false;
};

/// Adds its verbs to the command line and runs the one that was chosen.
class TopologyCommand {
public:
    explicit TopologyCommand(CLI::App& app);

    [[nodiscard]] bool is_chosen() const { return verb_->parsed(); }
    [[nodiscard]] ExitStatus run() const;

private:
    void add_input(CLI::App& verb, bool several);
    void add_output(CLI::App& verb);

    TopologyOptions options_;
    CLI::App* verb_;
    CLI::App* check_;
    CLI::App* draw_;
    CLI::App* convert_;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// `headway topology check|draw|convert`: files that describe networks.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace headway {

struct TopologyOptions {
    std::vector<std::string> files;
    std::string from;    ///< toml, slurm, slurm-yaml, simgrid; empty: by the file's name
    std::string to;
    std::string output;  ///< empty: standard output
    std::string link_speed_unit;
    std::string default_rate;
    bool json = false;
};

/// Adds its verbs to the command line and runs the one that was chosen.
class TopologyCommand final : public Command {
public:
    explicit TopologyCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    void add_input(const Verb& one, bool several);
    void add_output(const Verb& one);

    TopologyOptions options_;
    Verb check_;
    Verb draw_;
    Verb convert_;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// `headway predict`: the time of a collective, a matrix or a program by every
// model that applies, as a table, as JSON and as a picture over message size or
// hosts.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/network_options.hpp"

namespace headway {

struct PredictOptions {
    PatternOptions pattern;
    std::vector<std::string> bytes;  ///< sizes, or ranges "1KiB..1MiB" of powers of two
    std::string over = "bytes";      ///< or hosts: 1, 2, 4, ... of each cluster's instead
    std::vector<std::string> program;     ///< files of a GOAL schedule or a SimGrid trace
    std::vector<std::string> parameters;  ///< files that `headway fit --json` wrote
    std::string svg;                 ///< file to write the picture to; empty: none
    bool json = false;
};

class PredictCommand final : public Command {
public:
    explicit PredictCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    PredictOptions options_;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// `headway plan`: how a collective, or a measured matrix, would be paced, and
// why; from the configuration's file alone, so that it can be tried anywhere.
#pragma once

#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/network_options.hpp"

namespace headway {

struct PlanOptions {
    PatternOptions pattern;
    std::string bytes;  ///< message size of a pair of ranks; empty: any
    std::string node;   ///< empty: this host if the file knows it
    std::string rules;  ///< file to write Open MPI's rules to; empty: none
    bool json = false;
    bool tc = false;
};

class PlanCommand final : public Command {
public:
    explicit PlanCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    PlanOptions options_;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// `headway eval` as a verb; what it does is in study/eval_lines.hpp, which tests use
// without a command line.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace headway {

class EvalCommand final : public Command {
public:
    explicit EvalCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    std::vector<std::string> files_;
};

}  // namespace headway

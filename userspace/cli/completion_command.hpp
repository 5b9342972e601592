// SPDX-License-Identifier: Apache-2.0
// `headway completion`: what a shell needs to complete headway's command line.
#pragma once

#include "cli/command.hpp"

namespace headway {

class CompletionCommand final : public Command {
public:
    explicit CompletionCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    Verb program_;
    std::string shell_;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// `headway status`: what the running daemon says about itself.
#pragma once

#include "cli/control_options.hpp"

namespace headway {

struct StatusOptions {
    ControlOptions control;
    bool json = false;
};

class StatusCommand final : public Command {
public:
    explicit StatusCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    StatusOptions options_;
};

}  // namespace headway

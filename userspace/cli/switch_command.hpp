// SPDX-License-Identifier: Apache-2.0
// `headway off` and `headway on`: pacing of the whole node, by an administrator.
#pragma once

#include "cli/control_options.hpp"

namespace headway {

class SwitchCommand final : public Command {
public:
    enum class To { off, on };
    SwitchCommand(const CommandLine& line, To to);
    [[nodiscard]] ExitStatus run() const override;

private:
    To to_;
    ControlOptions control_;
    bool json_ = false;
};

}  // namespace headway

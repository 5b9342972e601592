// SPDX-License-Identifier: Apache-2.0
// `headway wait`: until the daemon has everything in the kernel.
#pragma once

#include <cstdint>

#include "cli/control_options.hpp"

namespace headway {

class WaitCommand final : public Command {
public:
    explicit WaitCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    ControlOptions control_;
    std::uint32_t timeout_s_ = 60;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// `headway doctor`: looks at this node and its way to other hosts, and says what costs
// performance.
#pragma once

#include <vector>

#include "cli/control_options.hpp"

namespace headway {

class DoctorCommand final : public Command {
public:
    explicit DoctorCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    ControlOptions control_;
    std::vector<std::string> hosts_;
    std::uint32_t seconds_ = 5;
    bool json_ = false;
};

}  // namespace headway

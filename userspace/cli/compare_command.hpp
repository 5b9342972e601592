// SPDX-License-Identifier: Apache-2.0
// `headway compare`: predicted times of collectives beside measured ones, from the reports
// that the MPI helper writes (HEADWAY_REPORT=FILE.json).
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace headway {

class CompareCommand final : public Command {
public:
    explicit CompareCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    std::vector<std::string> reports_;
    std::string keep_;
    std::string svg_;
    bool json_ = false;
};

}  // namespace headway

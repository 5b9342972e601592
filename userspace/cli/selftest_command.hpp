// SPDX-License-Identifier: Apache-2.0
// `headway selftest`: whether gap frames take their time behind a device.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace headway {

class SelftestCommand final : public Command {
public:
    explicit SelftestCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    std::string interface_;
    std::string report_;
    bool json_ = false;
};

}  // namespace headway

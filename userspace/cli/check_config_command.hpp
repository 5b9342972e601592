// SPDX-License-Identifier: Apache-2.0
// `headway check-config`: every mistake in a configuration file.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace headway {

class CheckConfigCommand final : public Command {
public:
    explicit CheckConfigCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    std::string file_;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// Running another program with text on its standard input.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace headway {

struct ChildCommand {
    std::vector<std::string> arguments;  ///< the first is the program, searched in PATH
    std::vector<std::pair<std::string, std::string>> environment;  ///< added to our own
    std::string_view input;
    std::chrono::milliseconds deadline;
};

struct ChildOutcome {
    int exit_status = 0;   ///< 128 + signal if a signal ended it
    std::string messages;  ///< standard output and error, at most 64 KiB
};

/// Runs the program to its end.  Fails if it cannot be started or does not end
/// within the deadline; then it is killed.  Blocks; handles no signal.
[[nodiscard]] Result<ChildOutcome> run_child(const ChildCommand& command);

}  // namespace headway

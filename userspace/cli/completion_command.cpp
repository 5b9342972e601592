// SPDX-License-Identifier: Apache-2.0
#include "cli/completion_command.hpp"

#include <fmt/core.h>

#include "cli/completion_script.hpp"

namespace headway {

CompletionCommand::CompletionCommand(const CommandLine& line)
    : Command(line, "completion", "print what a shell needs to complete headway's verbs and options"),
      program_(line.program()) {
    verb().add_option("shell", shell_, "the shell").required().one_of({"bash", "zsh", "fish"});
}

ExitStatus CompletionCommand::run() const {
    const VerbDescription program = program_.describe();
    fmt::print("{}", shell_ == "bash"  ? bash_completion(program)
                     : shell_ == "zsh" ? zsh_completion(program)
                                       : fish_completion(program));
    return ExitStatus::ok;
}

}  // namespace headway

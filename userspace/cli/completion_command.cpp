// SPDX-License-Identifier: Apache-2.0
// `headway completion`: what a shell needs to complete headway's command line.
#include <fmt/core.h>

#include "cli/command.hpp"
#include "cli/completion_script.hpp"

namespace headway {
namespace {

class CompletionCommand final : public Command {
public:
    explicit CompletionCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    Verb program_;
    std::string shell_;
};

}  // namespace

CompletionCommand::CompletionCommand(const CommandLine& line)
    : Command(line, "completion", "print what a shell needs to complete headway's verbs and options"),
      program_(line.program()) {
    verb().add_option("SHELL", shell_, "the shell").required().one_of({"bash", "zsh", "fish"});
}

ExitStatus CompletionCommand::run() const {
    const VerbDescription program = program_.describe();
    fmt::print("{}", shell_ == "bash"  ? bash_completion(program)
                     : shell_ == "zsh" ? zsh_completion(program)
                                       : fish_completion(program));
    return ExitStatus::ok;
}

std::unique_ptr<Command> completion_command(const CommandLine& line) {
    return std::make_unique<CompletionCommand>(line);
}

}  // namespace headway

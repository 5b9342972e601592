// SPDX-License-Identifier: Apache-2.0
// `headway check-config`: every mistake in a configuration file.
#include <string>

#include "cli/command.hpp"
#include "config/config.hpp"

namespace headway {
namespace {

class CheckConfigCommand final : public Command {
public:
    explicit CheckConfigCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    std::string file_;
};

}  // namespace

CheckConfigCommand::CheckConfigCommand(const CommandLine& line)
    : Command(line, "check-config", "tell every mistake in a configuration file") {
    verb().add_option("FILE", file_, "the file").required();
}

ExitStatus CheckConfigCommand::run() const { return check_config(file_); }

std::unique_ptr<Command> check_config_command(const CommandLine& line) {
    return std::make_unique<CheckConfigCommand>(line);
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "cli/check_config_command.hpp"

#include "config/config.hpp"

namespace headway {

CheckConfigCommand::CheckConfigCommand(const CommandLine& line)
    : Command(line, "check-config", "tell every mistake in a configuration file") {
    verb().add_option("file", file_, "the file").required();
}

ExitStatus CheckConfigCommand::run() const { return check_config(file_); }

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_command.hpp"

#include "study/eval_lines.hpp"

namespace headway {

EvalCommand::EvalCommand(const CommandLine& line)
    : Command(line, "eval", "answer questions to the models, a JSON line each") {
    verb().add_option("file", files_, "files of lines (default: standard input)");
}

ExitStatus EvalCommand::run() const { return eval_command(files_); }

}  // namespace headway

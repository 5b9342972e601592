// SPDX-License-Identifier: Apache-2.0
// A verb of the command line: its options, and what it does.
//
// A command adds its verb and options when it is made, and runs after the
// command line has been read.  Each is in VERB_command.cpp; main.cpp has the list.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/exit_status.hpp"

namespace headway {

/// Says on standard error why a verb ends with that status, each line below its name.
inline ExitStatus tell(std::string_view verb, const Error& error, ExitStatus status) {
    std::istringstream lines(error.message);
    for (std::string line; std::getline(lines, line);) fmt::print(stderr, "headway {}: {}\n", verb, line);
    return status;
}

class Command {
public:
    virtual ~Command() = default;
    Command(const Command&) = delete;  // options are kept by reference
    Command& operator=(const Command&) = delete;

    [[nodiscard]] bool is_chosen() const { return verb_.is_chosen(); }
    [[nodiscard]] virtual ExitStatus run() const = 0;

protected:
    Command(const CommandLine& line, const std::string& name, const std::string& description)
        : verb_(line.program().add_verb(name, description)) {}

    [[nodiscard]] const Verb& verb() const { return verb_; }

private:
    Verb verb_;
};

[[nodiscard]] std::unique_ptr<Command> check_config_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> compare_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> completion_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> doctor_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> fit_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> jobs_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> measure_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> off_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> on_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> plan_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> planner_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> predict_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> record_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> run_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> selftest_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> status_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> top_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> topology_command(const CommandLine& line);
[[nodiscard]] std::unique_ptr<Command> wait_command(const CommandLine& line);

}  // namespace headway

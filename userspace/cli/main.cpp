// SPDX-License-Identifier: Apache-2.0
// headway: the command line for administrators; see headway(1).
#include <array>
#include <memory>
#include <vector>

#include "base/version.hpp"
#include "cli/command.hpp"

namespace headway {
namespace {

int to_int(ExitStatus status) { return static_cast<int>(status); }

/// In the order in which --help lists them.
constexpr std::array makers{
    doctor_command, measure_command, plan_command, predict_command, compare_command, fit_command,
    selftest_command, status_command, top_command, jobs_command, wait_command, off_command,
    on_command, check_config_command, topology_command, run_command, record_command,
    planner_command, completion_command};

std::vector<std::unique_ptr<Command>> make_commands(const CommandLine& line) {
    std::vector<std::unique_ptr<Command>> commands;
    for (const auto make : makers) commands.push_back(make(line));
    return commands;
}

int run(int argc, char** argv) {
    const CommandLine line("headway", "Shows what Headway does and would do.", version);
    line.program().needs_verb();
    const auto commands = make_commands(line);
    if (const auto status = line.read(argc, argv)) return to_int(*status);
    for (const auto& command : commands) {
        if (command->is_chosen()) return to_int(command->run());
    }
    return to_int(ExitStatus::bad_config);  // not reached: a verb is required
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) { return headway::run(argc, argv); }

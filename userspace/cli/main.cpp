// SPDX-License-Identifier: Apache-2.0
// headway: the command line for administrators; see headway(1).
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "base/version.hpp"
#include "cli/command.hpp"

namespace headway {
namespace {

constexpr int to_int(ExitStatus status) { return static_cast<int>(status); }

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

/// None: stdout took nothing more, at which fmt throws; it has been told.
std::optional<int> run_to_the_end(int argc, char** argv) try {
    return run(argc, argv);
} catch (const std::system_error& error) {
    std::fprintf(stderr, "headway: %s\n", error.what());
    return std::nullopt;
}

/// What a verb has printed may still be in memory, and a full disk is noticed here; it is told.
bool is_all_written() {
    errno = 0;
    std::cout.flush();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return true;
    // of what failed earlier the reason is not known any more
    const char* const reason = errno != 0 ? std::strerror(errno) : "stdout took not all of it";
    std::fprintf(stderr, "headway: cannot write the output: %s\n", reason);
    return false;
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) {
    constexpr int failure = headway::to_int(headway::ExitStatus::failure);
    const auto status = headway::run_to_the_end(argc, argv);
    if (!status) return failure;
    return headway::is_all_written() || *status != 0 ? *status : failure;
}

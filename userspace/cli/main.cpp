// SPDX-License-Identifier: Apache-2.0
// headway: the command line for administrators; see headway(1).
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/version.hpp"
#include "cli/command.hpp"
#include "cli/control_options.hpp"
#include "config/config.hpp"
#include "protocol/control_client.hpp"

namespace headway {
namespace {

constexpr int to_int(ExitStatus status) { return static_cast<int>(status); }

using Maker = std::unique_ptr<Command> (*)(const CommandLine&);

struct Group {
    const char* heading;
    std::vector<Maker> makers;
};

/// In the order in which --help lists them.
const Group groups[] = {
    {"Look, on any node, without root", {doctor_command, status_command, top_command}},
    {"Run an MPI job", {run_command, record_command, compare_command}},
    {"Describe the network", {measure_command, check_config_command, topology_command}},
    {"Foresee", {plan_command, predict_command, fit_command}},
    {"Administer", {off_command, on_command, jobs_command, wait_command, selftest_command, completion_command}},
    {"", {planner_command}}};

/// What people know by another name.
const std::map<std::string, std::string> meant{
    {"headway show", "headway status"},
    {"headway get", "headway status"},
    {"headway list", "headway job list"},
    {"headway jobs", "headway job list"},
    {"headway ps", "headway job list"},
    {"headway enable", "headway on"},
    {"headway resume", "headway on"},
    {"headway start", "headway on, or systemctl start headwayd"},
    {"headway disable", "headway off"},
    {"headway pause", "headway off"},
    {"headway stop", "headway off, headway job end NAME, or systemctl stop headwayd"},
    {"headway reload", "systemctl reload headwayd"},
    {"headway check", "headway check-config FILE"},
    {"headway config", "headway check-config FILE"},
    {"headway validate", "headway check-config FILE"},
    {"headway verify", "headway check-config FILE"},
    {"headway eval", "headway-eval"},
    {"headway job stop", "headway job end"},
    {"headway job cancel", "headway job end"},
    {"headway job show", "headway job list"},
    {"headway topology show", "headway topology draw"},
    {"headway topology import", "headway topology convert"},
    {"headway topology export", "headway topology convert"}};

std::vector<std::unique_ptr<Command>> make_commands(const CommandLine& line) {
    std::vector<std::unique_ptr<Command>> commands;
    for (const Group& group : groups) {
        for (const Maker make : group.makers) commands.push_back(make(line));
        line.program().group_verbs(group.heading);
    }
    return commands;
}

/// What `headway` alone stands for.
std::vector<std::string> words_for_none() {
    if (ControlClient::connect(control_socket(config_default_path, false))) return {"status"};
    return {"--help"};
}

int run(int argc, char** argv) {
    const CommandLine line("headway", "Shows what Headway does and would do, and runs MPI jobs paced.", version);
    line.program().needs_verb();
    const auto commands = make_commands(line);
    const std::vector<std::string> words = argc > 1 ? std::vector<std::string>(argv + 1, argv + argc) : words_for_none();
    if (const auto status = line.read(words, meant)) return to_int(*status);
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

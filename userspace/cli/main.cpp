// SPDX-License-Identifier: Apache-2.0
// headway: the command line for administrators; see headway(1).
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/check_config_command.hpp"
#include "cli/eval_verb.hpp"
#include "cli/fit_command.hpp"
#include "cli/job_command.hpp"
#include "cli/plan_command.hpp"
#include "cli/predict_command.hpp"
#include "cli/run_command.hpp"
#include "cli/status_command.hpp"
#include "cli/top_command.hpp"
#include "cli/topology_command.hpp"
#include "cli/wait_command.hpp"
#include "daemon/version.hpp"

namespace headway {
namespace {

int to_int(ExitStatus status) { return static_cast<int>(status); }

/// In the order in which --help lists them.
std::vector<std::unique_ptr<Command>> make_commands(CLI::App& app) {
    std::vector<std::unique_ptr<Command>> commands;
    commands.push_back(std::make_unique<PlanCommand>(app));
    commands.push_back(std::make_unique<PredictCommand>(app));
    commands.push_back(std::make_unique<FitCommand>(app));
    commands.push_back(std::make_unique<StatusCommand>(app));
    commands.push_back(std::make_unique<TopCommand>(app));
    commands.push_back(std::make_unique<JobsCommand>(app));
    commands.push_back(std::make_unique<WaitCommand>(app));
    commands.push_back(std::make_unique<CheckConfigCommand>(app));
    commands.push_back(std::make_unique<EvalCommand>(app));
    commands.push_back(std::make_unique<TopologyCommand>(app));
    commands.push_back(std::make_unique<RunCommand>(app));
    commands.push_back(std::make_unique<RecordCommand>(app));
    return commands;
}

int run(int argc, char** argv) {
    CLI::App app("Shows what Headway does and would do.", "headway");
    app.require_subcommand(1);
    app.set_version_flag("--version", fmt::format("headway {}", version));
    const auto commands = make_commands(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {  // CLI11 knows no other way
        return app.exit(error) == 0 ? 0 : to_int(ExitStatus::bad_config);
    }
    for (const auto& command : commands) {
        if (command->is_chosen()) return to_int(command->run());
    }
    return to_int(ExitStatus::bad_config);  // not reached: a verb is required
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) { return headway::run(argc, argv); }

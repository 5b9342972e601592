// SPDX-License-Identifier: Apache-2.0
// headway: the command line for administrators; see headway(1).
#include <memory>
#include <vector>

#include "base/version.hpp"
#include "cli/check_config_command.hpp"
#include "cli/compare_command.hpp"
#include "cli/completion_command.hpp"
#include "cli/doctor_command.hpp"
#include "cli/fit_command.hpp"
#include "cli/job_command.hpp"
#include "cli/measure_command.hpp"
#include "cli/plan_command.hpp"
#include "cli/planner_command.hpp"
#include "cli/predict_command.hpp"
#include "cli/run_command.hpp"
#include "cli/selftest_command.hpp"
#include "cli/status_command.hpp"
#include "cli/switch_command.hpp"
#include "cli/top_command.hpp"
#include "cli/topology_command.hpp"
#include "cli/wait_command.hpp"

namespace headway {
namespace {

int to_int(ExitStatus status) { return static_cast<int>(status); }

/// In the order in which --help lists them.
std::vector<std::unique_ptr<Command>> make_commands(const CommandLine& line) {
    std::vector<std::unique_ptr<Command>> commands;
    commands.push_back(std::make_unique<DoctorCommand>(line));
    commands.push_back(std::make_unique<MeasureCommand>(line));
    commands.push_back(std::make_unique<PlanCommand>(line));
    commands.push_back(std::make_unique<PredictCommand>(line));
    commands.push_back(std::make_unique<CompareCommand>(line));
    commands.push_back(std::make_unique<FitCommand>(line));
    commands.push_back(std::make_unique<SelftestCommand>(line));
    commands.push_back(std::make_unique<StatusCommand>(line));
    commands.push_back(std::make_unique<TopCommand>(line));
    commands.push_back(std::make_unique<JobsCommand>(line));
    commands.push_back(std::make_unique<WaitCommand>(line));
    commands.push_back(std::make_unique<SwitchCommand>(line, SwitchCommand::To::off));
    commands.push_back(std::make_unique<SwitchCommand>(line, SwitchCommand::To::on));
    commands.push_back(std::make_unique<CheckConfigCommand>(line));
    commands.push_back(std::make_unique<TopologyCommand>(line));
    commands.push_back(std::make_unique<RunCommand>(line));
    commands.push_back(std::make_unique<RecordCommand>(line));
    commands.push_back(std::make_unique<PlannerCommand>(line));
    commands.push_back(std::make_unique<CompletionCommand>(line));
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

// SPDX-License-Identifier: Apache-2.0
#include "cli/job_measurement.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "base/progress.hpp"
#include "cli/child_process.hpp"
#include "cli/mpi_launch.hpp"
#include "config/network_file.hpp"
#include "config/user_networks.hpp"
#include "measure/agent_call.hpp"
#include "measure/measured_report.hpp"
#include "measure/measured_tree.hpp"
#include "measure/remote_laboratory.hpp"

namespace headway {
namespace {

// A measurement may put this load on the job's own network and nodes.
constexpr std::uint64_t sent_max_bytes = 300'000'000;
constexpr double load_share = 0.5;
constexpr std::chrono::seconds call_patience{30};

constexpr const char* agent_variable =
    "HEADWAY_AGENT";  ///< of mpi-glue/become_agent.c, as the next
constexpr std::array rank_variables{"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"};

/// Sets variables of the environment, which goes to the ranks, as long as the measurement takes.
class VariablesSet {
public:
    explicit VariablesSet(const std::vector<std::pair<std::string, std::string>>& variables) {
        for (const auto& [name, value] : variables) {
            const char* const before = std::getenv(name.c_str());
            before_.emplace_back(
                name, before == nullptr ? std::nullopt : std::optional<std::string>(before));
            ::setenv(name.c_str(), value.c_str(), 1);
        }
    }
    VariablesSet(const VariablesSet&) = delete;
    VariablesSet& operator=(const VariablesSet&) = delete;
    ~VariablesSet() {
        for (const auto& [name, value] : before_)
            value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    }

    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& [name, value] : before_) all.push_back(name);
        return all;
    }

private:
    std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

/// Between the agents, which end with it.
Result<std::string> measure_between(std::vector<CalledAgent> agents) {
    if (agents.size() < 2) return failure("the job is on one host, {}", agents.front().node);
    std::vector<MeasuredHost> hosts;
    std::vector<AgentProcess> processes;
    MeasureCircumstances circumstances;
    std::map<std::string, CalledAgent*> by_name;  // not as they happened to call
    for (CalledAgent& agent : agents) by_name.emplace(agent.node, &agent);
    for (const auto& [name, agent] : by_name) {
        hosts.push_back({name, agent->address});
        circumstances.hosts.push_back(name);
        circumstances.addresses.push_back(agent->address);
        processes.push_back(std::move(agent->process));
    }
    fmt::print(
        stderr,
        "headway run: measures the network between {} hosts, for a minute and {} MB at most\n",
        hosts.size(), sent_max_bytes / 1'000'000);
    LaboratoryOptions options;
    options.load_share = load_share;
    options.bytes_max = sent_max_bytes;
    const auto laboratory =
        RemoteLaboratory::over(std::move(hosts), std::move(processes), std::move(options));
    if (!laboratory) return tl::unexpected(laboratory.error());
    const SteadyClock clock;
    Progress bar(std::cerr, clock, is_terminal_stderr(), "measuring");
    NetworkMeasurement measurement(
        **laboratory, circumstances.hosts, [&bar](const std::string&, double done) {
            constexpr double steps = 1000;
            bar.show(static_cast<std::uint64_t>(done * steps), static_cast<std::uint64_t>(steps));
        });
    const auto network = measurement.run();
    bar.erase();
    if (!network) return tl::unexpected(network.error());
    const auto tree = network_tree_of(*network, circumstances.hosts, circumstances.addresses);
    if (!tree) return tl::unexpected(tree.error());
    const auto folder = user_networks_folder();
    if (!folder) return failure("there is no home in which it could be kept");
    const auto file = keep_network(*folder, circumstances.hosts, write_topology_toml(*tree), "");
    if (!file) return tl::unexpected(file.error());
    return file->string();
}

/// Agents that are not needed any more, or call too late, are dropped with `calls`.
Result<std::vector<CalledAgent>> hear(AgentCalls calls, const ChildProcess& launcher) {
    return calls.wait(launcher.fd(), call_patience);
}

}  // namespace

bool is_rank() {
    for (const char* name : rank_variables) {
        if (std::getenv(name) != nullptr) return true;
    }
    return false;
}

Result<JobMeasurement> measure_job(const std::vector<std::string>& command,
                                   const std::string& library) {
    auto calls = AgentCalls::open();
    if (!calls) return tl::unexpected(calls.error());
    std::error_code error;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
    const VariablesSet variables(
        {{"LD_PRELOAD", library}, {agent_variable, program}, {call_variable, calls->where()}});
    auto launcher = ChildProcess::start(
        is_open_mpi_launcher(command.front()) ? handing_on(command, variables.names()) : command,
        {.has_input = false});  // what is typed is for the job
    if (!launcher) return tl::unexpected(launcher.error());
    auto agents = hear(std::move(*calls), *launcher);
    if (!agents) return tl::unexpected(agents.error());
    if (agents->empty()) return JobMeasurement{"", launcher->wait()};
    auto network = measure_between(std::move(*agents));
    if (!network) return tl::unexpected(network.error());
    return JobMeasurement{std::move(*network), std::nullopt};
}

}  // namespace headway

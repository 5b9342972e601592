// SPDX-License-Identifier: Apache-2.0
// `headway doctor`: looks at this node and its way to other hosts, says whether Headway would help,
// and what costs performance.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/host_name.hpp"
#include "base/json.hpp"
#include "base/progress.hpp"
#include "base/units.hpp"
#include "base/version.hpp"
#include "cli/child_process.hpp"
#include "cli/command.hpp"
#include "cli/control_options.hpp"
#include "doctor/report.hpp"

namespace headway {
namespace {

class DoctorCommand final : public Command {
public:
    explicit DoctorCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    ControlOptions control_;
    [[nodiscard]] Result<void> watch(Look& connections) const;

    std::vector<std::string> hosts_;
    std::vector<std::string> command_;
    std::uint32_t seconds_ = 5;
    bool json_ = false;
};

using OrderedJson = nlohmann::ordered_json;
constexpr std::uint32_t longest_look_s = 3600;
constexpr std::chrono::milliseconds glance_every{100};  // at connections, which may end
constexpr std::chrono::milliseconds first_glances_every{10};  // a short command's connections end at once
constexpr int first_glances = 50;

// ------------------------------------------------------------------------ text

void print_headwayd(const DaemonLook& daemon) {
    if (!daemon) {
        fmt::print("headwayd: {}\n", daemon.error().message);
        return;
    }
    const nlohmann::json told = daemon->value("daemon", nlohmann::json::object());
    const std::string what = what_paces(told);
    fmt::print("headwayd: answers");
    if (!what.empty()) fmt::print("; {} is paced by {}", told.value("interface", "its interface"), what);
    fmt::print("{}\n", is_resting(told) ? "; at present it rests, for nobody is paced" : "");
}

void print_text(const DoctorReport& report) {
    fmt::print("{}", report_text(report));
    print_headwayd(report.after.daemon);
}

// ------------------------------------------------------------------------ JSON

/// null: it is not known.
OrderedJson known(std::uint32_t number) { return number == 0 ? OrderedJson() : OrderedJson(number); }

OrderedJson paths_json(const Look& look) {
    OrderedJson list = OrderedJson::array();
    for (const HostPath& path : look.paths) {
        list.push_back({{"host", path.host},
                        {"address", path.address},
                        {"interface", path.device},
                        {"answers", !path.is_silent},
                        {"gateway", path.gateway.empty() ? OrderedJson() : OrderedJson(path.gateway)},
                        {"source", path.source},
                        {"mtu_bytes", known(path.mtu_bytes)},
                        {"rto_min_ms", rto_min_ms(look, path)},
                        {"rtt_us", known(path.longest_rtt_us())},
                        {"least_rtt_us", known(path.longest_least_rtt_us())},
                        {"look_up_s", path.look_up_s}});
    }
    for (const HostFailure& failed : look.failures)
        list.push_back({{"host", failed.host}, {"error", failed.why}});
    return list;
}

OrderedJson devices_json(const Look& look) {
    OrderedJson devices = OrderedJson::object();
    for (const auto& [name, device] : look.devices)
        devices[name] = {{"facts", device.facts},
                         {"qdisc", device.qdisc},
                         {"qdisc_is_default", device.is_qdisc_default},
                         {"counters", device.counters}};
    return devices;
}

using Counters = std::map<std::string, std::uint64_t>;

OrderedJson counters_json(const Counters& before, const Counters& after) {
    OrderedJson counters = OrderedJson::object();
    for (const auto& [name, value] : after) {
        const auto earlier = before.find(name);
        counters[name] = {{"while_looking", earlier == before.end() ? 0 : value - std::min(earlier->second, value)},
                          {"since_start", value}};
    }
    return counters;
}

OrderedJson findings_json(const std::vector<Finding>& findings) {
    OrderedJson list = OrderedJson::array();
    for (const Finding& finding : findings)
        list.push_back({{"weight", weight_name(finding.weight)},
                        {"cause", cause_name(finding.cause)},
                        {"seen", finding.seen}, {"to_do", finding.to_do}});
    return list;
}

OrderedJson headwayd_json(const DaemonLook& daemon) {
    if (daemon) {
        const nlohmann::json told = daemon->value("daemon", nlohmann::json::object());
        return {{"answers", true},
                {"interface", told.value("interface", "")},
                {"backend", told.value("backend", "")},
                {"backend_reason", told.value("backend_reason", "")},
                {"resting", is_resting(told)}};
    }
    return {{"answers", false}, {"reason", daemon.error().message}};
}

void print_json(const DoctorReport& report) {
    const Look& now = report.after;
    const OrderedJson document{
        {"format", "headway-doctor"},
        {"headway", version},
        {"node", host_name()},
        {"verdict", {{"answer", answer_name(report.verdict.answer)},
                     {"why", report.verdict.why},
                     {"to_do", report.verdict.to_do}}},
        {"findings", findings_json(report.findings)},
        {"seconds", report.between.count()},
        {"uptime_s", now.uptime_s},
        {"paths", paths_json(now)},
        {"interfaces", devices_json(now)},
        {"settings", now.settings},
        {"tcp", counters_json(report.before.tcp, now.tcp)},
        {"node_counters", counters_json(report.before.node, now.node)},
        {"headwayd", headwayd_json(now.daemon)}};
    fmt::print("{}\n", document.dump(2, ' ', false, OrderedJson::error_handler_t::replace));
}

ExitStatus status_of(const DoctorReport& report) {
    if (!report.after.failures.empty() || report.after.devices.empty()) return ExitStatus::bad_config;
    switch (report.verdict.answer) {
    case Answer::would_not_help: return ExitStatus::ok;
    case Answer::would_help: return ExitStatus::failure;
    case Answer::cannot_tell: break;
    }
    return ExitStatus::cannot_tell;
}

/// Glances at the connections until so many seconds are over.
void watch_for(std::uint32_t seconds, Look& connections) {
    const auto began = std::chrono::steady_clock::now();
    const SteadyClock clock;
    Progress progress(std::cerr, clock, is_terminal_stderr(), "looking");
    const auto all = std::chrono::seconds(seconds) / glance_every;
    for (std::int64_t glance = 1; glance <= all; ++glance) {
        progress.show(static_cast<std::uint64_t>(glance - 1), static_cast<std::uint64_t>(all));
        std::this_thread::sleep_until(began + glance * glance_every);
        look_at_connections(connections);
    }
}

}  // namespace

DoctorCommand::DoctorCommand(const CommandLine& line)
    : Command(line, "doctor", "say whether Headway would help here, and what costs performance") {
    control_.add_to(verb());
    verb().add_option("HOST", hosts_, "a host that this node sends to (none: look at the default route's interface)");
    verb().add_command(command_, "look while this command runs, which stands behind --");
    verb()
        .add_option("--seconds", seconds_, "look for so long, while a program runs")
        .between(1U, longest_look_s)
        .in_seconds()
        .shows_default();
    verb().add_flag("-j,--json", json_, "print JSON");
}

/// While the command runs, or for some seconds.
Result<void> DoctorCommand::watch(Look& connections) const {
    if (command_.empty()) {
        watch_for(seconds_, connections);
        return {};
    }
    auto command = ChildProcess::start(command_, {.prints_to_stderr = json_});
    if (!command) return tl::unexpected(command.error());
    ::signal(SIGINT, SIG_IGN);  // it ends the command, of which the report tells
    int glances = 0;
    do look_at_connections(connections);
    while (!command->has_ended_within(++glances < first_glances ? first_glances_every : glance_every));
    if (const int status = command->wait(); status != 0)
        fmt::print(stderr, "headway doctor: {} has ended with status {}\n", command_.front(), status);
    return {};
}

ExitStatus DoctorCommand::run() const {
    const std::string socket = control_.path();
    DoctorReport report;
    report.before = look(hosts_, socket);
    Look connections = report.before;
    const auto began = std::chrono::steady_clock::now();
    if (const auto watched = watch(connections); !watched)
        return tell("doctor", watched.error(), ExitStatus::no_command);
    report.after = look_again(report.before, socket);
    report.between = std::chrono::steady_clock::now() - began;
    keep_ended_connections(report.after, connections);
    ask_silent_hosts(report.after);
    report.findings = judge(report.before, report.after, report.between);
    report.verdict = verdict(report.before, report.after, report.findings, report.between);
    json_ ? print_json(report) : print_text(report);
    if (status_of(report) == ExitStatus::bad_config)
        fmt::print(stderr, "headway doctor: {}; {}\n", report.verdict.why, report.verdict.to_do);
    return status_of(report);
}

std::unique_ptr<Command> doctor_command(const CommandLine& line) {
    return std::make_unique<DoctorCommand>(line);
}

}  // namespace headway

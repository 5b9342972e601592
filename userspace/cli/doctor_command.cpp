// SPDX-License-Identifier: Apache-2.0
// `headway doctor`: looks at this node and its way to other hosts, and says what costs
// performance.
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
#include "cli/command.hpp"
#include "cli/control_options.hpp"
#include "doctor/judge.hpp"

namespace headway {
namespace {

class DoctorCommand final : public Command {
public:
    explicit DoctorCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    ControlOptions control_;
    std::vector<std::string> hosts_;
    std::uint32_t seconds_ = 5;
    bool json_ = false;
};

using OrderedJson = nlohmann::ordered_json;
constexpr std::uint32_t longest_look_s = 3600;

std::uint64_t rose(const Look& before, const Look& after, const char* counter) {
    return after.tcp_counter(counter) - std::min(before.tcp_counter(counter), after.tcp_counter(counter));
}

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

// ------------------------------------------------------------------------ text

std::string speed_text(const DeviceLook& device) {
    const auto speed = device.speed();
    return speed ? rate_to_text(*speed) : "speed unknown";
}

void print_device(const std::string& name, const DeviceLook& device) {
    fmt::print("{}: {}, {} duplex, MTU {}, driver {}, qdisc {}{}\n", name, speed_text(device),
               or_unknown(device.fact("duplex")), or_unknown(device.fact("mtu")),
               or_unknown(device.fact("driver_name")), device.qdisc,
               device.is_qdisc_default ? "" : " (installed by somebody)");
    fmt::print("  TSO {}, GSO {}, GRO {}; PAUSE received {}, sent {}\n", or_unknown(device.fact("tso")),
               or_unknown(device.fact("gso")), or_unknown(device.fact("gro")),
               or_unknown(device.fact("pause_rx")), or_unknown(device.fact("pause_tx")));
}

void print_path(const Look& look, const HostPath& path) {
    fmt::print("to {} ({}): {}, {}, from {}; least time-out {:g} ms, {}", path.host, path.address,
               path.device, path.gateway.empty() ? "on the same network" : "through " + path.gateway,
               or_unknown(path.source), rto_min_ms(look, path),
               path.congestion_control.empty() ? look.setting("tcp_congestion_control")
                                               : path.congestion_control);
    if (path.longest_rtt_us > 0) fmt::print(", round trip {:.2f} ms", path.longest_rtt_us / 1e3);
    fmt::print("\n");
}

void print_text(const Look& before, const Look& after, const std::vector<Finding>& findings,
                std::uint32_t seconds) {
    for (const HostPath& path : after.paths) print_path(after, path);
    for (const HostFailure& failed : after.failures)
        fmt::print("cannot find the way to {}: {}\n", failed.host, failed.why);
    for (const auto& [name, device] : after.devices) print_device(name, device);
    fmt::print("TCP: {}; buffers up to {} bytes to send, {} to receive\n",
               after.setting("tcp_congestion_control"), after.setting("tcp_wmem"), after.setting("tcp_rmem"));
    fmt::print("in {} s: {} segments sent, {} of them again; {} time-outs, {} tail loss probes\n", seconds,
               rose(before, after, "OutSegs"), rose(before, after, "RetransSegs"),
               rose(before, after, "TCPTimeouts"), rose(before, after, "TCPLossProbes"));
    fmt::print("headwayd: {}\n\n", after.daemon ? "answers" : after.daemon.error().message);
    if (!costs_performance(findings)) fmt::print("Nothing that costs performance was seen.\n");
    int number = 0;
    for (const Finding& finding : findings)
        fmt::print("{}. {}: {}\n   {}\n", ++number, weight_name(finding.weight), finding.seen, finding.to_do);
}

// ------------------------------------------------------------------------ JSON

OrderedJson paths_json(const Look& look) {
    OrderedJson list = OrderedJson::array();
    for (const HostPath& path : look.paths) {
        list.push_back({{"host", path.host},
                        {"address", path.address},
                        {"interface", path.device},
                        {"gateway", path.gateway.empty() ? OrderedJson() : OrderedJson(path.gateway)},
                        {"source", path.source},
                        {"mtu_bytes", path.mtu_bytes == 0 ? OrderedJson() : OrderedJson(path.mtu_bytes)},
                        {"rto_min_ms", rto_min_ms(look, path)},
                        {"rtt_us", path.longest_rtt_us == 0 ? OrderedJson() : OrderedJson(path.longest_rtt_us)}});
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

OrderedJson counters_json(const Look& before, const Look& after) {
    OrderedJson counters = OrderedJson::object();
    for (const auto& [name, value] : after.tcp)
        counters[name] = {{"while_looking", rose(before, after, name.c_str())}, {"since_start", value}};
    return counters;
}

OrderedJson findings_json(const std::vector<Finding>& findings) {
    OrderedJson list = OrderedJson::array();
    for (const Finding& finding : findings)
        list.push_back({{"weight", weight_name(finding.weight)}, {"seen", finding.seen}, {"to_do", finding.to_do}});
    return list;
}

void print_json(const Look& before, const Look& after, const std::vector<Finding>& findings,
                std::uint32_t seconds) {
    const OrderedJson document{
        {"format", "headway-doctor"},
        {"headway", version},
        {"node", host_name()},
        {"seconds", seconds},
        {"paths", paths_json(after)},
        {"interfaces", devices_json(after)},
        {"settings", after.settings},
        {"tcp", counters_json(before, after)},
        {"headwayd", after.daemon ? OrderedJson{{"answers", true}}
                                  : OrderedJson{{"answers", false}, {"reason", after.daemon.error().message}}},
        {"findings", findings_json(findings)}};
    fmt::print("{}\n", document.dump(2, ' ', false, OrderedJson::error_handler_t::replace));
}

/// Waits until so many seconds after `began`.
void wait(std::chrono::steady_clock::time_point began, std::uint32_t seconds) {
    const SteadyClock clock;
    Progress progress(std::cerr, clock, is_terminal_stderr(), "looking");
    for (std::uint32_t second = 1; second <= seconds; ++second) {
        progress.show(second - 1, seconds);
        std::this_thread::sleep_until(began + std::chrono::seconds(second));
    }
}

}  // namespace

DoctorCommand::DoctorCommand(const CommandLine& line)
    : Command(line, "doctor", "look for what costs performance between this node and other hosts") {
    control_.add_to(verb());
    verb().add_option("HOST", hosts_, "a host that this node sends to (none: look at the default route's interface)");
    verb()
        .add_option("--seconds", seconds_, "look for so long; best while a program runs")
        .between(1U, longest_look_s)
        .shows_default();
    verb().add_flag("--json", json_, "print JSON");
}

ExitStatus DoctorCommand::run() const {
    const std::string socket = control_.path();
    const Look before = look(hosts_, socket);
    const auto began = std::chrono::steady_clock::now();
    wait(began, seconds_);
    const Look after = look(hosts_, socket);
    const auto findings = judge(before, after, std::chrono::steady_clock::now() - began);
    if (json_) {
        print_json(before, after, findings, seconds_);
    } else {
        print_text(before, after, findings, seconds_);
    }
    if (!after.failures.empty() || after.devices.empty()) {
        fmt::print(stderr, "headway doctor: {}\n",
                   after.failures.empty() ? "there is no default route; name a host"
                                          : "not all hosts could be looked at: " + after.failures.front().host + ": " +
                                                after.failures.front().why);
        return ExitStatus::bad_config;
    }
    return costs_performance(findings) ? ExitStatus::failure : ExitStatus::ok;
}

std::unique_ptr<Command> doctor_command(const CommandLine& line) {
    return std::make_unique<DoctorCommand>(line);
}

}  // namespace headway

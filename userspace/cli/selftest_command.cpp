// SPDX-License-Identifier: Apache-2.0
// `headway selftest`: whether gap frames take their time behind a device.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "cli/command.hpp"
#include "kernel/gap_frame_test.hpp"
#include "kernel/netlink_exchange.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "look/device_facts.hpp"

namespace headway {
namespace {

class SelftestCommand final : public Command {
public:
    explicit SelftestCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    std::string interface_;
    std::string report_;
    bool json_ = false;
};

using Json = nlohmann::ordered_json;

constexpr TcHandle own_root = tc_handle(0x6a70, 0);

/// While this exists, a signal that would end the process waits until it is asked for: the
/// test takes back first what it changed in the kernel.
class HeldSignals {
public:
    HeldSignals() {
        sigemptyset(&ending_);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending_, signal);
        sigprocmask(SIG_BLOCK, &ending_, &before_);
    }
    ~HeldSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

    /// Sleeps that long, or until such a signal comes; returns whether one came.
    [[nodiscard]] bool sleep(std::chrono::milliseconds time) const {
        const timespec timeout{0, std::chrono::nanoseconds(time).count()};
        return sigtimedwait(&ending_, nullptr, &timeout) > 0;
    }

private:
    sigset_t ending_{};
    sigset_t before_{};
};

Result<GapFrameEvidence> test(NetlinkTrafficControl& kernel, const std::string& interface,
                              const HeldSignals& signals) {
    auto device = open_packet_device(interface);
    if (!device) return tl::unexpected(device.error());
    const SteadyClock clock;
    GapFrameTest test(kernel, std::move(*device), clock);
    for (;;) {
        auto result = test.step();
        if (!result) return tl::unexpected(result.error());
        if (*result) return std::move(**result);
        if (signals.sleep(GapFrameTest::step_time)) {
            test.cancel();
            return failure("the test of {} was interrupted; gap frames are not used", interface);
        }
    }
}

/// Tests with a qdisc of its own, if the device has none but its default.
Result<GapFrameEvidence> test_device(const std::string& interface, bool& is_kept) {
    const HeldSignals signals;
    auto transport = MnlTransport::open();
    if (!transport) return tl::unexpected(transport.error());
    auto kernel = NetlinkTrafficControl::open(*transport, interface);
    if (!kernel) return tl::unexpected(kernel.error());
    const auto root = kernel->root_qdisc();
    if (!root) return tl::unexpected(root.error());
    is_kept = *root && (*root)->kind == "gap";
    if (is_kept) return test(*kernel, interface, signals);
    if (*root && !(*root)->is_default()) {
        return failure("the root qdisc of {} is {} {}, which somebody installed; remove it first "
                       "(tc qdisc del dev {} root)",
                       interface, (*root)->kind, (*root)->handle.to_string(), interface);
    }
    if (auto added = kernel->apply_one(AddRootQdisc{own_root}); !added) {
        return tl::unexpected(std::move(added.error()));
    }
    auto result = test(*kernel, interface, signals);
    if (auto removed = kernel->apply_one(DeleteRootQdisc{own_root}); !removed && result) {
        return tl::unexpected(std::move(removed.error()));
    }
    return result;
}

/// Of what the kernel refuses to everybody but root, or without the module.
const char* advice(const Error& refused) {
    if (refused.error_number == EPERM) return "; run it as root";
    if (refused.error_number == ENOENT) return "; load the module: modprobe sch_gap, which headway-dkms builds";
    return "";
}

const char* verdict_name(GapFrameVerdict verdict) {
    switch (verdict) {
        case GapFrameVerdict::passed: return "passed";
        case GapFrameVerdict::lost: return "lost";
        case GapFrameVerdict::slow: return "slow";
        case GapFrameVerdict::uncounted: return "uncounted";
        case GapFrameVerdict::stalled: return "stalled";
        case GapFrameVerdict::refused: return "refused";
    }
    return "unknown";
}

Json evidence_json(const GapFrameEvidence& evidence) {
    return {{"verdict", verdict_name(evidence.verdict)},
            {"reason", evidence.reason},
            {"link_bits_per_s", evidence.link_rate ? Json(evidence.link_rate->bits().value) : Json(nullptr)},
            {"took_ns", evidence.took_ns},
            {"link_bytes", evidence.link_bytes},
            {"sent_bytes", evidence.sent_bytes},
            {"gap_packets", evidence.gap_packets},
            {"underruns", evidence.underruns}};
}

Json changed(const std::map<std::string, std::uint64_t>& before,
             const std::map<std::string, std::uint64_t>& after) {
    Json list = Json::object();
    for (const auto& [name, value] : after) {
        const auto earlier = before.find(name);
        if (earlier == before.end() || earlier->second != value) {
            list[name] = value - (earlier == before.end() ? 0 : earlier->second);
        }
    }
    return list;
}

}  // namespace

SelftestCommand::SelftestCommand(const CommandLine& line)
    : Command(line, "selftest", "test whether gap frames take their time behind a device") {
    verb().add_option("DEV", interface_, "network interface").required();
    verb().add_option("--report", report_, "write what was seen, and what the device is, to this file");
    verb().add_flag("-j,--json", json_, "print the result as JSON");
}

ExitStatus SelftestCommand::run() const {
    const auto before = device_counters(interface_);
    bool is_kept = false;
    const auto result = test_device(interface_, is_kept);
    if (!result) {
        fmt::print(stderr, "headway selftest: {}{}\n", result.error().message, advice(result.error()));
        return ExitStatus::bad_config;
    }
    const Json evidence = evidence_json(*result);
    if (!report_.empty()) {
        const Json report{{"format", "headway-selftest"},
                          {"headway", version},
                          {"made", fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)))},
                          {"interface", interface_},
                          {"result", evidence},
                          {"device", device_facts(interface_)},
                          {"counters_rose_by", changed(before, device_counters(interface_))}};
        std::ofstream file(report_);
        file << report.dump(2) << "\n";
        if (!file.flush()) {
            fmt::print(stderr, "headway selftest: {}: cannot be written\n", report_);
            return ExitStatus::bad_config;
        }
    }
    const bool passed = result->verdict == GapFrameVerdict::passed;
    if (json_) {
        fmt::print("{}\n", evidence.dump(2));
    } else {
        fmt::print("{}: {}: {}\n", interface_, verdict_name(result->verdict), result->reason);
        if (is_kept) {
            fmt::print("The gap qdisc of {} uses {} now.\n", interface_, passed ? "gap frames" : "the timer");
        } else if (passed) {
            fmt::print("Use them with: tc qdisc add dev {} root handle 1: gap backend gap\n", interface_);
        }
    }
    return passed ? ExitStatus::ok : ExitStatus::failure;
}

std::unique_ptr<Command> selftest_command(const CommandLine& line) {
    return std::make_unique<SelftestCommand>(line);
}

}  // namespace headway

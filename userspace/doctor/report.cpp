// SPDX-License-Identifier: Apache-2.0
#include "doctor/report.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/units.hpp"

namespace headway {
namespace {

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

std::string device_text(const std::string& name, const DeviceLook& device) {
    const auto speed = device.speed();
    return fmt::format("{}: {}, {} duplex, MTU {}, driver {}, qdisc {}{}\n"
                       "  TSO {}, GSO {}, GRO {}; PAUSE received {}, sent {}\n",
                       name, speed ? rate_to_text(*speed) : "speed unknown", or_unknown(device.fact("duplex")),
                       or_unknown(device.fact("mtu")), or_unknown(device.fact("driver_name")), device.qdisc,
                       device.is_qdisc_default ? ""
                       : device.is_qdisc_ours  ? " (Headway's)"
                                               : " (installed by somebody)",
                       or_unknown(device.fact("tso")), or_unknown(device.fact("gso")), or_unknown(device.fact("gro")),
                       or_unknown(device.fact("pause_rx")), or_unknown(device.fact("pause_tx")));
}

std::string path_text(const Look& look, const HostPath& path) {
    std::string text = fmt::format(
        "to {} ({}): {}, {}, from {}; least time-out {:g} ms, {}", path.host, path.address, path.device,
        path.gateway.empty() ? "on the same network" : "through " + path.gateway, or_unknown(path.source),
        rto_min_ms(look, path),
        path.congestion_control.empty() ? look.setting("tcp_congestion_control") : path.congestion_control);
    if (path.longest_rtt_us() > 0) {
        text += fmt::format(", round trips of {:.2f} to {:.2f} ms", path.longest_least_rtt_us() / 1e3,
                            path.longest_rtt_us() / 1e3);
    }
    return text + (path.is_silent ? ", and it has not answered\n" : "\n");
}

std::string duration_since(double seconds) {
    if (seconds < 2 * 3600) return fmt::format("{:.0f} minutes", seconds / 60);
    if (seconds < 2 * 86400) return fmt::format("{:.0f} hours", seconds / 3600);
    return fmt::format("{:.0f} days", seconds / 86400);
}

std::string tcp_text(const DoctorReport& report) {
    const Look& now = report.after;
    const auto rose = [&](const char* counter) {
        return now.tcp_counter(counter) - std::min(report.before.tcp_counter(counter), now.tcp_counter(counter));
    };
    std::string text = fmt::format(
        "TCP: {}; buffers (least, usual, most) of {} bytes to send, and of {} to receive\n"
        "in {:.3g} s: {} segments sent, {} of them again; {} time-outs, {} tail loss probes\n",
        now.setting("tcp_congestion_control"), now.setting("tcp_wmem"), now.setting("tcp_rmem"),
        report.between.count(), rose("OutSegs"), rose("RetransSegs"), rose("TCPTimeouts"), rose("TCPLossProbes"));
    const auto segments = now.tcp_counter("OutSegs"), timeouts = now.tcp_counter("TCPTimeouts");
    if (segments == 0 || now.uptime_s <= 0) return text;
    return text + fmt::format("since the node's start {} ago: {} segments sent, {} time-outs ({:.3g} in a million)\n",
                              duration_since(now.uptime_s), segments, timeouts,
                              1e6 * static_cast<double>(timeouts) / static_cast<double>(segments));
}

std::string verdict_text(const DoctorReport& report) {
    const Verdict& verdict = report.verdict;
    std::string text = fmt::format("verdict: Headway {}: {}.\n", answer_name(verdict.answer), verdict.why);
    if (!verdict.to_do.empty()) text += fmt::format("   {}\n", verdict.to_do);
    if (!report.findings.empty()) text += "\nWhat was found, the most important first:\n";
    int number = 0;
    for (const Finding& finding : report.findings) {
        text += fmt::format("{}. {}: {}\n   {}\n", ++number, weight_name(finding.weight), finding.seen, finding.to_do);
    }
    return text;
}

}  // namespace

std::string report_text(const DoctorReport& report) {
    std::string text = verdict_text(report) + "\nWhat was looked at:\n";
    for (const HostPath& path : report.after.paths) text += path_text(report.after, path);
    for (const HostFailure& failed : report.after.failures) {
        text += fmt::format("cannot find the way to {}: {}\n", failed.host, failed.why);
    }
    for (const auto& [name, device] : report.after.devices) text += device_text(name, device);
    return text + tcp_text(report);
}

}  // namespace headway

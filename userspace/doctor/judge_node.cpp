// SPDX-License-Identifier: Apache-2.0
// What the node itself costs: what its kernel drops, its settings, its routes, its headwayd.
#include <algorithm>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "base/text_lines.hpp"
#include "base/units.hpp"
#include "doctor/examination.hpp"

namespace headway {
namespace {

using nlohmann::json;

// A class that sends so much more than its rate is not paced.
constexpr double rate_tolerance = 1.02;
// Of the time, in which some process had to wait for a processor; the kernel adds it up in steps.
constexpr double waits_that_tell = 0.8;
constexpr double shortest_look_s = 1;
// Names are found in a fraction of it, also by a name service far away.
constexpr double slow_look_up_s = 0.5;

/// The last of tcp_rmem's or tcp_wmem's three numbers.
std::uint64_t largest_buffer_bytes(const std::string& setting) {
    return number_in(setting.substr(setting.rfind(' ') + 1));
}

void judge_connection_tracking(Examination& of) {
    const auto dropped = of.node_rose("conntrack_drops");
    if (dropped == 0) return;
    const std::uint64_t most = number_in(of.after.setting("nf_conntrack_max"));
    of.add_cause_of_stalls(Cause::connection_tracking,
        fmt::format("connection tracking has dropped {} {}: its table has room for {} connections.",
                    counted(dropped, "packet"), in_seconds(of.seconds), most),
        fmt::format("sysctl -w net.netfilter.nf_conntrack_max={}, or let the firewall not track the job's network "
                    "(notrack).",
                    std::max<std::uint64_t>(4 * most, 262144)));
}

void judge_reverse_paths(Examination& of) {
    const auto dropped = of.tcp_rose("IPReversePathFilter");
    if (dropped == 0) return;
    of.add_cause_of_stalls(Cause::reverse_path,
        fmt::format("the kernel has dropped {} {} because answers would leave by another interface (rp_filter, the "
                    "reverse path filter).",
                    counted(dropped, "packet"), in_seconds(of.seconds)),
        "Mend the routes, so that both directions use one interface; until then: sysctl -w "
        "net.ipv4.conf.all.rp_filter=2");
}

void judge_backlog(Examination& of) {
    const auto dropped = of.node_rose("softnet_drops");
    if (dropped == 0) return;
    const std::uint64_t now = number_in(of.after.setting("netdev_max_backlog"));
    of.add_cause_of_losses(Cause::backlog,
        fmt::format("a processor's backlog of received packets was full: {} were dropped {} (netdev_max_backlog{}).",
                    counted(dropped, "packet"), in_seconds(of.seconds), now > 0 ? fmt::format(" is {}", now) : ""),
        fmt::format("sysctl -w net.core.netdev_max_backlog={}, and let several processors receive (ethtool -X, RPS).",
                    std::max<std::uint64_t>(4 * now, 4000)));
}

/// Linux allows a sixteenth to an eighth of the memory.
void judge_tcp_memory(Examination& of) {
    if (of.tcp_rose("TCPMemoryPressures") == 0) return;
    const std::uint64_t pages = std::max<std::uint64_t>(of.after.node_counter("memory_pages") / 8, 1024);
    of.add_cause_of_losses(Cause::tcp_memory,
        fmt::format("TCP has come to the end of the memory that all connections share (tcp_mem{}).",
                    of.after.setting("tcp_mem").empty() ? "" : " is " + of.after.setting("tcp_mem")),
        fmt::format("sysctl -w net.ipv4.tcp_mem=\"{} {} {}\"", pages / 4 * 3, pages, pages / 4 * 6));
}

void judge_names(Examination& of) {
    for (const HostPath& path : of.after.paths) {
        const double seconds = path.look_up_s;
        if (seconds < slow_look_up_s) continue;
        of.add(Weight::slows, Cause::slow_names,
               fmt::format("the name {} took {:.1f} s to look up: each connection that is opened by a name waits so.",
                           path.host, seconds),
               "Put the hosts into /etc/hosts, or take name services that do not answer out of /etc/resolv.conf.");
    }
}

void judge_settings(Examination& of) {
    struct Rule {
        const char* setting;
        bool (*is_bad)(std::uint64_t value);
        Weight weight;
        Cause cause;
        const char* seen;
        const char* to_do;
    };
    static constexpr auto is_zero = [](std::uint64_t value) { return value == 0; };
    static constexpr auto is_set = [](std::uint64_t value) { return value != 0; };
    static constexpr Rule rules[] = {
        {"tcp_early_retrans", is_zero, Weight::slows, Cause::tail_loss_probes,
         "tail loss probes are off (tcp_early_retrans is 0): a lost last segment always costs a "
         "whole time-out.",
         "sysctl -w net.ipv4.tcp_early_retrans=3"},
        {"tcp_recovery", [](std::uint64_t value) { return (value & 1) == 0; }, Weight::slows, Cause::rack,
         "RACK is off (tcp_recovery): lost retransmissions are found by time-outs only.",
         "sysctl -w net.ipv4.tcp_recovery=1"},
        {"tcp_moderate_rcvbuf", is_zero, Weight::slows, Cause::receive_buffer_growth,
         "receive buffers do not grow by themselves (tcp_moderate_rcvbuf is 0).",
         "sysctl -w net.ipv4.tcp_moderate_rcvbuf=1"},
        {"tcp_slow_start_after_idle", is_set, Weight::note, Cause::slow_start_after_idle,
         "a connection that was idle for a time-out starts again with ten segments "
         "(tcp_slow_start_after_idle is 1), which matters over delays of milliseconds.",
         "sysctl -w net.ipv4.tcp_slow_start_after_idle=0, if these connections are paced."},
        {"tcp_autocorking", is_set, Weight::note, Cause::autocorking,
         "a small message waits until the one before it has left the interface (tcp_autocorking is 1), "
         "also where the MPI library has set TCP_NODELAY.",
         "sysctl -w net.ipv4.tcp_autocorking=0, if programs send many small messages."},
    };
    for (const Rule& rule : rules) {
        const std::string text = of.after.setting(rule.setting);
        if (!text.empty() && rule.is_bad(number_in(text))) of.add(rule.weight, rule.cause, rule.seen, rule.to_do);
    }
}

/// The least and the usual size of a setting of three sizes.
std::string first_two_of(const std::string& sizes) {
    std::istringstream words(sizes);
    std::string least, usual;
    words >> least >> usual;
    return least + " " + usual;
}

/// A connection can have no more under way than its buffers hold.
void judge_buffers(Examination& of, const HostPath& path, const DeviceLook& device) {
    const auto speed = device.speed();
    if (path.longest_least_rtt_us() == 0 || !speed) return;
    const double needed_bytes = static_cast<double>(speed->value) / 8 * path.longest_least_rtt_us() / 1e6;
    for (const char* setting : {"tcp_wmem", "tcp_rmem"}) {
        const double largest = static_cast<double>(largest_buffer_bytes(of.after.setting(setting)));
        if (largest == 0 || largest >= needed_bytes) continue;
        of.add(Weight::slows, Cause::buffers,
            fmt::format("buffers of {:.0f} bytes ({}) hold less than the {:.0f} that are under way to {} "
                        "at {} and a round trip of {:.1f} ms.",
                        largest, setting, needed_bytes, path.host,
                        rate_to_text(*speed),
                        path.longest_least_rtt_us() / 1e3),
            fmt::format("sysctl -w net.ipv4.{}=\"{} {:.0f}\"", setting, first_two_of(of.after.setting(setting)),
                        2 * needed_bytes));
    }
}

void judge_path(Examination& of, const HostPath& path) {
    const auto device = of.after.devices.find(path.device);
    if (path.device == "lo") {
        of.add(Weight::note, Cause::own_address, fmt::format("{} is this node itself.", path.host),
            "Name the other hosts of a job.");
        return;
    }
    if (device == of.after.devices.end()) return;
    if (path.mtu_bytes != 0 && path.mtu_bytes < number_in(device->second.fact("mtu"))) {
        of.add(Weight::slows, Cause::route_mtu,
            fmt::format("the route to {} has an MTU of {} bytes, and {} could send {}.", path.host,
                        path.mtu_bytes, path.device, device->second.fact("mtu")),
            fmt::format("Give the whole way the same MTU, or remove the route's: ip route show to match {}, and "
                        "ip route replace with the same words but mtu.",
                        path.address));
    }
    judge_buffers(of, path, device->second);
}

void judge_classes(Examination& of, const json& earlier, const json& now) {
    for (const json& entry : now) {
        const json rate = entry.value("bytes_per_s", json());
        if (!rate.is_number() || !entry.value("in_kernel", false) || of.seconds <= 0) continue;
        for (const json& old : earlier) {
            if (old.value("classid", "") != entry.value("classid", "")) continue;
            const double sent = entry.value("wire_bytes", 0.0) - old.value("wire_bytes", 0.0);
            const bool kept_one_rate = old.value("bytes_per_s", json()) == rate;
            if (!kept_one_rate || sent / of.seconds <= rate_tolerance * rate.get<double>()) continue;
            of.add(Weight::loses, Cause::class_rate,
                fmt::format("class {} has sent {:.0f} bytes a second, more than its rate of {:.0f}.",
                            entry.value("classid", ""), sent / of.seconds, rate.get<double>()),
                "See tc -s class show; please report this with the output of headway selftest --report.");
        }
    }
}

}  // namespace

void judge_what_the_node_drops(Examination& of) {
    judge_connection_tracking(of);
    judge_reverse_paths(of);
    judge_tcp_memory(of);
    judge_backlog(of);
}

void judge_processors(Examination& of) {
    const double waited = static_cast<double>(of.node_rose("processor_waits_us")) / 1e6;
    if (of.seconds < shortest_look_s || waited < waits_that_tell * of.seconds) return;
    of.add(Weight::slows, Cause::processors,
           fmt::format("more runs here than there are processors: in {:.0f} % of the time some process waited for one.",
                       100 * std::min(waited / of.seconds, 1.0)),
           "top tells what runs.  Start no more ranks than processors, each on one of its own (mpirun --bind-to core), "
           "and let MPI libraries yield where they share.");
}

void judge_settings_and_routes(Examination& of) {
    judge_names(of);
    judge_settings(of);
    for (const HostPath& path : of.after.paths) judge_path(of, path);
}

void judge_daemon(Examination& of) {
    if (!of.after.daemon) return;  // a node that is only looked at needs none
    const json& now = *of.after.daemon;
    if (const json error = now.value("kernel_error", json()); error.is_string()) {
        of.add(
            Weight::loses, Cause::kernel_error,
            "headwayd cannot read what the kernel has: " + error.get<std::string>() + ".",
            "See headway status and the log of headwayd.");
    } else if (!now.value("in_step", true)) {
        of.add(Weight::loses, Cause::not_in_step, "what headwayd has planned is not in the kernel.",
            "See headway status, which names what the kernel refused.");
    }
    if (of.before.daemon) {
        judge_classes(of, of.before.daemon->value("classes", json::array()), now.value("classes", json::array()));
    }
    const json feedback = now.value("feedback", json());
    if (feedback.is_object() && feedback.value("at_its_bound", false)) {
        of.add(
            Weight::loses, Cause::at_its_bound,
            "packets of paced connections are lost however slowly they are sent.",
            "headway.toml promises more than the network has, or somebody else fills its links.");
    }
}

}  // namespace headway

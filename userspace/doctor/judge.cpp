// SPDX-License-Identifier: Apache-2.0
#include "doctor/judge.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include "base/text_lines.hpp"
#include "base/units.hpp"
#include "kernel/tested_kernels.hpp"

namespace headway {
namespace {

using nlohmann::json;

constexpr double system_rto_min_ms = 200;  // TCP_RTO_MIN of Linux
// A class that sends so much more than its rate is not paced.
constexpr double rate_tolerance = 1.02;
// Shares of less time may be a connection's beginning.
constexpr std::uint64_t busy_that_tells_us = 100'000;
// A few are seen where packets are lost.
constexpr std::uint64_t reorderings_that_tell = 10;
// Cards of clusters are faster; who runs at 100 Mbit/s has negotiated badly.
constexpr std::uint64_t slowest_card_bps = 100'000'000;

/// Drivers of cards that drop the PAUSE frames of everybody but their own firmware, by a
/// filter that the driver installs: so gap frames take no time there.
constexpr std::array drivers_without_gap_frames{"i40e", "ice"};

std::uint64_t number_in(const std::string& text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// The last of tcp_rmem's or tcp_wmem's three numbers.
std::uint64_t largest_buffer_bytes(const std::string& setting) {
    return number_in(setting.substr(setting.rfind(' ') + 1));
}

class Judge {
public:
    Judge(const Look& before, const Look& after, double seconds)
        : before_(before), after_(after), sent_(sent_between(before, after)), seconds_(seconds) {}

    [[nodiscard]] std::vector<Finding> findings() && {
        judge_window_scaling();
        for (const HostPath& path : after_.paths) judge_connections(path);
        judge_selective_acknowledgements();
        for (const auto& [name, device] : after_.devices) judge_device(name, device);
        judge_reordering();
        judge_losses();
        judge_tcp();
        for (const HostPath& path : after_.paths) judge_path(path);
        judge_interfaces();
        judge_daemon();
        std::stable_sort(found_.begin(), found_.end(), [](const Finding& a, const Finding& b) {
            return a.weight < b.weight;
        });
        return std::move(found_);
    }

private:
    void add(Weight weight, std::string seen, std::string to_do) {
        found_.push_back({weight, std::move(seen), std::move(to_do)});
    }

    /// Where connections have stood still, this is why.
    void add_cause_of_losses(std::string seen, std::string to_do) {
        found_.push_back({sent_.timeouts > 0 ? Weight::stalls : Weight::loses, std::move(seen), std::move(to_do), true});
    }

    [[nodiscard]] std::uint64_t device_rose(const std::string& name, const char* counter) const {
        const auto earlier = before_.devices.find(name);
        const auto now = after_.devices.at(name).counter(counter);
        return earlier != before_.devices.end() ? now - std::min(earlier->second.counter(counter), now) : 0;
    }

    [[nodiscard]] bool is_lossy() const {
        return static_cast<double>(sent_.again) > retransmitted_share * static_cast<double>(sent_.segments);
    }

    /// The connections' own evidence of what they wait for.
    void judge_connections(const HostPath& path) {
        std::uint64_t busy_us = 0, receiver_us = 0, send_buffer_us = 0;
        bool full_segments_vanish = false;
        for (const auto& [cookie, now] : path.connections) {
            const TcpInfoCounts earlier = counted_before(before_, cookie);
            busy_us += now.busy_us - std::min(earlier.busy_us, now.busy_us);
            receiver_us += now.receiver_limited_us - std::min(earlier.receiver_limited_us, now.receiver_limited_us);
            send_buffer_us +=
                now.send_buffer_limited_us - std::min(earlier.send_buffer_limited_us, now.send_buffer_limited_us);
            full_segments_vanish = full_segments_vanish || has_sent_no_full_segment(earlier, now);
        }
        if (full_segments_vanish) add_full_segments_vanish(path);
        if (busy_us < busy_that_tells_us) return;
        // Without window scaling the window is small however fast the receiver is.
        if (2 * receiver_us > busy_us && !is_window_scaling_off()) {
            add_receiver_is_slow(path, 100 * receiver_us / busy_us);
        }
        if (2 * send_buffer_us > busy_us) add_send_buffer_is_small(path, 100 * send_buffer_us / busy_us);
    }

    /// Small segments have arrived, and full ones are sent again and again.
    [[nodiscard]] static bool has_sent_no_full_segment(const TcpInfoCounts& earlier, const TcpInfoCounts& now) {
        return now.acknowledged_bytes > 0 && now.acknowledged_bytes < now.segment_bytes &&
               now.retransmissions >= earlier.retransmissions + 2;
    }

    void add_full_segments_vanish(const HostPath& path) {
        add_cause_of_losses(
            fmt::format("small packets reach {} and those of full size do not: a link on the way has a smaller MTU "
                        "than {}, and nobody says so.",
                        path.host, path.device),
            fmt::format("ping -M do -s 1372 {} and other sizes find the largest that arrives, and 28 more is the MTU "
                        "to set (ip link set dev {} mtu ...).  Until then: sysctl -w net.ipv4.tcp_mtu_probing=1",
                        path.host, path.device));
    }

    void add_receiver_is_slow(const HostPath& path, std::uint64_t percent) {
        add(Weight::slows,
            fmt::format("{} receives too slowly: its receive window was full in {} % of the time in which there was "
                        "data to send.",
                        path.host, percent),
            fmt::format("On {0}, ss -tmi tells whether its program leaves data unread (Recv-Q).  If it does not, the "
                        "buffer is too small: sysctl -w net.ipv4.tcp_rmem=\"4096 131072 6291456\"",
                        path.host));
    }

    void add_send_buffer_is_small(const HostPath& path, std::uint64_t percent) {
        add(Weight::slows,
            fmt::format("the send buffer (tcp_wmem, {}) was too small for the connections to {} in {} % of the time in "
                        "which there was data to send.",
                        after_.setting("tcp_wmem"), path.host, percent),
            "sysctl -w net.ipv4.tcp_wmem=\"4096 16384 4194304\", or a larger SO_SNDBUF where the program sets one.");
    }

    [[nodiscard]] bool is_window_scaling_off() const { return after_.setting("tcp_window_scaling") == "0"; }

    void judge_window_scaling() {
        if (!is_window_scaling_off()) return;
        add(Weight::slows,
            "window scaling is off (tcp_window_scaling is 0): a connection has no more than 64 KiB under way.",
            "sysctl -w net.ipv4.tcp_window_scaling=1");
    }

    void judge_selective_acknowledgements() {
        if (after_.setting("tcp_sack") != "0") return;
        const Weight weight = !is_lossy() ? Weight::slows : sent_.timeouts > 0 ? Weight::stalls : Weight::loses;
        add(weight,
            "selective acknowledgements are off (tcp_sack is 0): several losses in a window cost a round trip or a "
            "time-out each.",
            "sysctl -w net.ipv4.tcp_sack=1");
    }

    void judge_reordering() {
        const auto events = tcp_rose("TCPSACKReorder") + tcp_rose("TCPTSReorder");
        if (events < reorderings_that_tell) return;
        add(Weight::loses,
            fmt::format("packets have arrived out of order {} times in {:.0f} s.", events, seconds_),
            "Let switches and bonds choose links by a hash of addresses and ports (bonding's "
            "xmit_hash_policy=layer3+4), not packet by packet.");
    }

    void judge_losses() {
        if (sent_.timeouts > 0) {
            add(Weight::stalls,
                fmt::format("{} in {:.0f} s: each has held a connection for {:.0f} ms or more.",
                            counted(sent_.timeouts, "retransmission time-out"),
                            seconds_, least_rto_ms(after_)),
                "headway run --measure -- mpirun ./program paces the exchanges that end in a burst into one "
                "link.  Without Headway a smaller rto_min on the route shortens each time-out (ip route "
                "change ... rto_min 5ms).");
            return;
        }
        if (!is_lossy()) return;
        add(Weight::loses,
            fmt::format("{} of {} were sent again in {:.0f} s, without a time-out.", sent_.again,
                        counted(sent_.segments, "segment"), seconds_),
            "headway doctor --seconds 60 tells whether time-outs come of it; if none do, TCP repairs these "
            "losses within a round trip.");
    }

    [[nodiscard]] std::uint64_t tcp_rose(const char* counter) const {
        const auto now = after_.tcp_counter(counter);
        return now - std::min(before_.tcp_counter(counter), now);
    }

    void judge_device(const std::string& name, const DeviceLook& device) {
        judge_link(name, device);
        judge_received(name);
        judge_pause(name, device);
        judge_qdisc(name, device);
        for (const char* offload : {"tso", "gso", "gro"}) {
            if (device.fact(offload) == "off") {
                add(Weight::slows, fmt::format("{}: {} is off, so each packet is handled by itself.", name, offload),
                    fmt::format("ethtool -K {} {} on, unless it was switched off for a reason.", name, offload));
            }
        }
    }

    void judge_link(const std::string& name, const DeviceLook& device) {
        // operstate follows the carrier within a second, and a device that is down tells of no carrier
        const std::string carrier = device.fact("carrier");
        if (carrier == "0" || (carrier.empty() && device.fact("operstate") == "down")) {
            add_cause_of_losses(fmt::format("{} has no link.", name),
                "Look at the cable and the port of the switch.");
        }
        if (device.fact("duplex") == "half") {
            add_cause_of_losses(fmt::format("{} works in half duplex: data and acknowledgements collide.", name),
                fmt::format("Let both ends negotiate (ethtool -s {} autoneg on).", name));
        }
        // a tunnel's speed is a number that its driver made up
        const bool is_card = device.fact("driver_name") != "tun";
        if (const auto speed = device.speed(); is_card && speed && speed->value <= slowest_card_bps) {
            add(Weight::slows, fmt::format("{} runs at {} only.", name, rate_to_text(*speed)),
                fmt::format("ethtool -s {} autoneg on, and if that does not mend it another cable or port; ethtool {} "
                            "tells what both ends offer.",
                            name, name));
        }
        if (const auto broken = device_rose(name, "statistics/rx_crc_errors"); broken > 0) {
            add_cause_of_losses(
                fmt::format("{} has received {} broken in {:.0f} s.", name,
                            counted(broken, "frame"), seconds_),
                "Change the cable or the transceiver.");
        }
    }

    void judge_received(const std::string& name) {
        std::uint64_t lost = 0;
        for (const char* counter : {"statistics/rx_missed_errors", "statistics/rx_fifo_errors"})
            lost += device_rose(name, counter);
        if (lost > 0) {
            add_cause_of_losses(
                fmt::format("{} has lost {} in {:.0f} s because its receive ring was full.", name,
                            counted(lost, "frame"), seconds_),
                fmt::format("A longer ring (ethtool -G {} rx ...), or interrupts on more processors.", name));
        }
        if (const auto dropped = device_rose(name, "statistics/tx_dropped"); dropped > 0) {
            add_cause_of_losses(
                fmt::format("{} has dropped {} of its own in {:.0f} s before they were sent.", name,
                            counted(dropped, "frame"), seconds_),
                fmt::format("Look at the queue of {} (tc -s qdisc show dev {}).", name, name));
        }
    }

    void judge_pause(const std::string& name, const DeviceLook& device) {
        for (const auto& [counter, value] : device.counters) {
            const bool counts_pauses = counter.starts_with("ethtool/") && counter.find("rx") != std::string::npos &&
                                       (counter.find("pause") != std::string::npos ||
                                        counter.find("xoff") != std::string::npos);
            const auto pauses = counts_pauses ? device_rose(name, counter.c_str()) : 0;
            if (pauses == 0) continue;
            add(Weight::loses,
                fmt::format("the switch has paused {} {} in {:.0f} s ({}).", name,
                            counted(pauses, "time"), seconds_, counter),
                "The switch's buffers fill: pace the senders.  Paused links also hold up traffic that "
                "has nothing to do with the full port.");
            break;
        }
        if (device.fact("pause_tx") == "on") {
            add(Weight::note,
                fmt::format("{} may send PAUSE frames itself, which gap frames would cancel: headwayd "
                            "paces it by the timer.",
                            name),
                fmt::format("For gap frames: ethtool -A {} tx off.", name));
        }
        const std::string driver = device.fact("driver_name");
        if (std::find(drivers_without_gap_frames.begin(), drivers_without_gap_frames.end(), driver) !=
            drivers_without_gap_frames.end()) {
            add(Weight::note,
                fmt::format("{} is driven by {}, which drops PAUSE frames that the host sends: gap frames "
                            "take no time there.",
                            name, driver),
                "Leave it to headwayd, whose self-test chooses the timer.");
        }
    }

    void judge_qdisc(const std::string& name, const DeviceLook& device) {
        if (device.is_qdisc_default) return;
        if (device.is_qdisc_ours) {
            if (!after_.daemon) {
                add(Weight::slows,
                    fmt::format("{} has Headway's qdisc {}, and headwayd does not answer: its classes keep "
                                "the rates that they fell back to.",
                                name, device.qdisc),
                    "Start headwayd, or remove the qdisc (tc qdisc del dev " + name + " root).");
            }
            judge_kernel(name, device);
            return;
        }
        for (const char* forgotten : {"tbf", "netem"}) {
            if (device.qdisc != forgotten) continue;
            add_cause_of_losses(
                fmt::format("somebody has given {} the qdisc {}, which limits, delays or drops what it sends.", name,
                            forgotten),
                fmt::format("tc qdisc del dev {} root, unless it is meant to be there.", name));
        }
        for (const char* shaper : {"htb", "hfsc", "cake", "cbq"}) {
            if (device.qdisc != shaper) continue;
            add(Weight::note,
                fmt::format("somebody has given {} the qdisc {}, which may limit or delay what it sends.",
                            name, shaper),
                fmt::format("See tc -s qdisc show dev {}; headwayd does not replace it.", name));
        }
    }

    /// DKMS leaves the module out where nobody has tested it.
    void judge_kernel(const std::string& name, const DeviceLook& device) {
        const std::string why = why_kernel_is_not_tested(device.fact("kernel"));
        if (device.qdisc == "gap" || why.empty()) return;
        add(Weight::note, fmt::format("{} is paced less exactly than by the module sch_gap: {}.", name, why),
            "Boot one of these kernels; headway-dkms builds the module for it.");
    }

    void judge_tcp() {
        struct Rule {
            const char* setting;
            bool (*is_bad)(std::uint64_t value);
            Weight weight;
            const char* seen;
            const char* to_do;
        };
        static constexpr auto is_zero = [](std::uint64_t value) { return value == 0; };
        static constexpr Rule rules[] = {
            {"tcp_early_retrans", is_zero, Weight::slows,
             "tail loss probes are off (tcp_early_retrans is 0): a lost last segment always costs a "
             "whole time-out.",
             "sysctl -w net.ipv4.tcp_early_retrans=3"},
            {"tcp_recovery", [](std::uint64_t value) { return (value & 1) == 0; }, Weight::slows,
             "RACK is off (tcp_recovery): lost retransmissions are found by time-outs only.",
             "sysctl -w net.ipv4.tcp_recovery=1"},
            {"tcp_moderate_rcvbuf", is_zero, Weight::slows,
             "receive buffers do not grow by themselves (tcp_moderate_rcvbuf is 0).",
             "sysctl -w net.ipv4.tcp_moderate_rcvbuf=1"},
            {"tcp_slow_start_after_idle", [](std::uint64_t value) { return value != 0; }, Weight::note,
             "a connection that was idle for a time-out starts again with ten segments "
             "(tcp_slow_start_after_idle is 1), which matters over delays of milliseconds.",
             "sysctl -w net.ipv4.tcp_slow_start_after_idle=0, if these connections are paced."},
            {"tcp_autocorking", [](std::uint64_t value) { return value != 0; }, Weight::note,
             "a small message waits until the one before it has left the interface (tcp_autocorking is 1), "
             "also where the MPI library has set TCP_NODELAY.",
             "sysctl -w net.ipv4.tcp_autocorking=0, if programs send many small messages."},
        };
        for (const Rule& rule : rules) {
            const std::string text = after_.setting(rule.setting);
            if (!text.empty() && rule.is_bad(number_in(text))) add(rule.weight, rule.seen, rule.to_do);
        }
    }

    void judge_path(const HostPath& path) {
        const auto device = after_.devices.find(path.device);
        if (path.device == "lo") {
            add(Weight::note, fmt::format("{} is this node itself.", path.host),
                "Name the other hosts of a job.");
            return;
        }
        if (device == after_.devices.end()) return;
        if (path.mtu_bytes != 0 && path.mtu_bytes < number_in(device->second.fact("mtu"))) {
            add(Weight::slows,
                fmt::format("the route to {} has an MTU of {} bytes, and {} could send {}.", path.host,
                            path.mtu_bytes, path.device, device->second.fact("mtu")),
                fmt::format("Give the whole way the same MTU, or remove the route's: ip route show to match {}, and "
                            "ip route replace with the same words but mtu.",
                            path.address));
        }
        judge_buffers(path, device->second);
    }

    /// A connection can have no more under way than its buffers hold.
    void judge_buffers(const HostPath& path, const DeviceLook& device) {
        const auto speed = device.speed();
        if (path.longest_rtt_us() == 0 || !speed) return;
        const double needed_bytes = static_cast<double>(speed->value) / 8 * path.longest_rtt_us() / 1e6;
        for (const char* setting : {"tcp_wmem", "tcp_rmem"}) {
            const double largest = static_cast<double>(largest_buffer_bytes(after_.setting(setting)));
            if (largest == 0 || largest >= needed_bytes) continue;
            add(Weight::slows,
                fmt::format("buffers of {:.0f} bytes ({}) hold less than the {:.0f} that are under way to {} "
                            "at {} and a round trip of {:.1f} ms.",
                            largest, setting, needed_bytes, path.host,
                            rate_to_text(*speed),
                            path.longest_rtt_us() / 1e3),
                fmt::format("sysctl -w net.ipv4.{}=\"{} {:.0f}\"", setting, first_two_of(after_.setting(setting)),
                            2 * needed_bytes));
        }
    }

    /// The least and the usual size of a setting of three sizes.
    static std::string first_two_of(const std::string& sizes) {
        std::istringstream words(sizes);
        std::string least, usual;
        words >> least >> usual;
        return least + " " + usual;
    }

    /// Open MPI uses all interfaces that are up, and MPICH's UCX the fastest ones.
    void judge_interfaces() {
        std::string used, others;
        for (const auto& [name, address] : after_.addresses) {
            auto& list = after_.devices.contains(name) ? used : others;
            list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name, address);
        }
        if (used.empty() || others.empty()) return;
        const std::string& first = after_.devices.begin()->first;
        add(Weight::note,
            fmt::format("the node has other interfaces that are up, {}, where Open MPI and UCX connect as well if "
                        "the other hosts have addresses there.",
                        others),
            fmt::format("Name the one to use: mpirun --mca btl_tcp_if_include {0}, or UCX_NET_DEVICES={0}.", first));
    }

    void judge_daemon() {
        if (!after_.daemon) return;  // a node that is only looked at needs none
        const json& now = *after_.daemon;
        if (const json error = now.value("kernel_error", json()); error.is_string()) {
            add(Weight::loses, "headwayd cannot read what the kernel has: " + error.get<std::string>() + ".",
                "See headway status and the log of headwayd.");
        } else if (!now.value("in_step", true)) {
            add(Weight::loses, "what headwayd has planned is not in the kernel.",
                "See headway status, which names what the kernel refused.");
        }
        if (before_.daemon) judge_classes(before_.daemon->value("classes", json::array()),
                                          now.value("classes", json::array()));
        const json feedback = now.value("feedback", json());
        if (feedback.is_object() && feedback.value("at_its_bound", false)) {
            add(Weight::loses, "packets of paced connections are lost however slowly they are sent.",
                "headway.toml promises more than the network has, or somebody else fills its links.");
        }
    }

    void judge_classes(const json& earlier, const json& now) {
        for (const json& entry : now) {
            const json rate = entry.value("bytes_per_s", json());
            if (!rate.is_number() || !entry.value("in_kernel", false) || seconds_ <= 0) continue;
            for (const json& old : earlier) {
                if (old.value("classid", "") != entry.value("classid", "")) continue;
                const double sent = entry.value("wire_bytes", 0.0) - old.value("wire_bytes", 0.0);
                const bool kept_one_rate = old.value("bytes_per_s", json()) == rate;
                if (!kept_one_rate || sent / seconds_ <= rate_tolerance * rate.get<double>()) continue;
                add(Weight::loses,
                    fmt::format("class {} has sent {:.0f} bytes a second, more than its rate of {:.0f}.",
                                entry.value("classid", ""), sent / seconds_, rate.get<double>()),
                    "See tc -s class show; please report this with the output of headway selftest --report.");
            }
        }
    }

    const Look& before_;
    const Look& after_;
    const Sent sent_;
    double seconds_;
    std::vector<Finding> found_;
};

}  // namespace

const char* weight_name(Weight weight) {
    switch (weight) {
    case Weight::stalls: return "stalls";
    case Weight::loses: return "loses";
    case Weight::slows: return "slows";
    case Weight::note: break;
    }
    return "note";
}

double rto_min_ms(const Look& look, const HostPath& path) {
    if (path.rto_min_ms) return *path.rto_min_ms;
    const std::string setting = look.setting("tcp_rto_min_us");
    return setting.empty() ? system_rto_min_ms : static_cast<double>(number_in(setting)) / 1e3;
}

double least_rto_ms(const Look& look) {
    double least = system_rto_min_ms;
    for (const HostPath& path : look.paths) least = std::min(least, rto_min_ms(look, path));
    return least;
}

TcpInfoCounts counted_before(const Look& look, std::uint64_t cookie) {
    for (const HostPath& path : look.paths) {
        const auto found = path.connections.find(cookie);
        if (found != path.connections.end()) return found->second;
    }
    return {};
}

Sent sent_between(const Look& before, const Look& after) {
    const auto rose = [&](const char* name) {
        return after.tcp_counter(name) - std::min(before.tcp_counter(name), after.tcp_counter(name));
    };
    const std::uint64_t timeouts = rose("TCPTimeouts"), of_opening = rose("TCPSynRetrans");
    Sent sent{rose("OutSegs"), rose("RetransSegs"), timeouts - std::min(timeouts, of_opening)};
    for (const HostPath& path : after.paths) {
        for (const auto& [cookie, now] : path.connections) {
            const TcpInfoCounts earlier = counted_before(before, cookie);
            sent.hosts_segments += now.segments - std::min(now.segments, earlier.segments);
            sent.hosts_again += now.retransmissions - std::min(now.retransmissions, earlier.retransmissions);
        }
    }
    return sent;
}

std::vector<Finding> judge(const Look& before, const Look& after, std::chrono::duration<double> between) {
    return Judge(before, after, between.count()).findings();
}

}  // namespace headway

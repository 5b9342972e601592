// SPDX-License-Identifier: Apache-2.0
// What TCP tells of the way to the hosts: what connections wait for, and what is lost where.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/text_lines.hpp"
#include "doctor/examination.hpp"

namespace headway {
namespace {

// Shares of less time may be a connection's beginning.
constexpr std::uint64_t busy_that_tells_us = 100'000;
// A few are seen where packets are lost.
constexpr std::uint64_t reorderings_that_tell = 10;
// Each is seldom by chance: TCP's checksum lets nearly nothing broken through.
constexpr std::uint64_t broken_that_tell = 3;
// A quarter of Linux's least time-out: who waits for so long in a queue is slowed down by it.
constexpr std::uint32_t queue_that_tells_us = 50'000;
// A receiver delays an acknowledgement by 40 ms; every second round trip may be a fast one.
constexpr std::uint32_t delayed_rtt_us = 10'000;
// Round trips that vary by less than this factor have found no queue that could have been full.
constexpr std::uint32_t rtt_of_a_queue = 3;

// Once may be the end of a connection's beginning.
constexpr std::uint32_t restarts_that_tell = 2;
// Over less a window of ten segments grows in no time that counts.
constexpr std::uint32_t rtt_of_restarts_us = 1000;

/// What the connections to a host did while they were looked at.
struct Traffic {
    std::uint64_t busy_us = 0, receiver_limited_us = 0, send_buffer_limited_us = 0;
    std::uint64_t segments = 0, again = 0;
    std::uint64_t acknowledged_bytes = 0;
    std::uint32_t rtt_us = 0, least_rtt_us = 0, segment_bytes = 0;  ///< of the one with the longest round trip
    bool full_segments_vanish = false;
    bool is_one_new_without_ecn = false;

    /// While there was data to send, in each of the longest round trips.
    [[nodiscard]] double segments_per_rtt() const {
        const double round_trips = static_cast<double>(busy_us) / std::max(rtt_us, 1U);
        return static_cast<double>(acknowledged_bytes) / std::max(segment_bytes, 1U) / std::max(round_trips, 1.0);
    }
};

std::uint64_t rise(std::uint64_t earlier, std::uint64_t now) { return now - std::min(earlier, now); }

/// Small segments have arrived, and full ones are sent again and again.
bool has_sent_no_full_segment(const TcpInfoCounts& earlier, const TcpInfoCounts& now) {
    return now.acknowledged_bytes > 0 && now.acknowledged_bytes < now.segment_bytes &&
           now.retransmissions >= earlier.retransmissions + 2;
}

Traffic traffic_to(const HostPath& path, const Look& before) {
    Traffic all;
    for (const auto& [cookie, now] : path.connections) {
        const TcpInfoCounts earlier = counted_before(before, cookie);
        all.busy_us += rise(earlier.busy_us, now.busy_us);
        all.receiver_limited_us += rise(earlier.receiver_limited_us, now.receiver_limited_us);
        all.send_buffer_limited_us += rise(earlier.send_buffer_limited_us, now.send_buffer_limited_us);
        all.segments += rise(earlier.segments, now.segments);
        all.again += rise(earlier.needed_retransmissions(), now.needed_retransmissions());
        all.acknowledged_bytes += rise(earlier.acknowledged_bytes, now.acknowledged_bytes);
        all.full_segments_vanish = all.full_segments_vanish || has_sent_no_full_segment(earlier, now);
        all.is_one_new_without_ecn = all.is_one_new_without_ecn || (earlier == TcpInfoCounts{} && !now.is_ecn_used);
        if (now.rtt_us < all.rtt_us) continue;
        all.rtt_us = now.rtt_us;
        all.least_rtt_us = now.least_rtt_us;
        all.segment_bytes = now.segment_bytes;
    }
    return all;
}

bool is_window_scaling_off(const Look& look) { return look.setting("tcp_window_scaling") == "0"; }

void judge_window_scaling(Examination& of) {
    if (!is_window_scaling_off(of.after)) return;
    of.add(Weight::slows, Cause::window_scaling,
           "window scaling is off (tcp_window_scaling is 0): a connection has no more than 64 KiB under way.",
           "sysctl -w net.ipv4.tcp_window_scaling=1");
}

void judge_silence(Examination& of, const HostPath& path) {
    if (!path.is_without_neighbour) return;
    const std::string who = path.gateway.empty() ? path.address : "its gateway " + path.gateway;
    of.add_cause_of_stalls(Cause::no_neighbour,
        fmt::format("{} cannot be reached: nobody answers {} for {} on {}.", path.host,
                    path.address.find(':') == std::string::npos ? "ARP" : "neighbour discovery", who, path.device),
        fmt::format("Look whether it is up, and whether its port is in the VLAN of {} (ip neigh show {}; on the "
                    "switch, its port's VLAN).",
                    path.device, path.gateway.empty() ? path.address : path.gateway));
}

void judge_full_segments(Examination& of, const HostPath& path, const Traffic& traffic) {
    if (!traffic.full_segments_vanish) return;
    of.add_cause_of_losses(Cause::mtu_black_hole,
        fmt::format("small packets reach {} and those of full size do not: a link on the way has a smaller MTU "
                    "than {}, and nobody says so.",
                    path.host, path.device),
        fmt::format("ping -M do -s 1372 {} and other sizes find the largest that arrives, and 28 more is the MTU "
                    "to set (ip link set dev {} mtu ...).  Until then: sysctl -w net.ipv4.tcp_mtu_probing=1",
                    path.host, path.device));
}

/// Who asks for ECN and gets no answer asks again without it, a second later.
void judge_ecn(Examination& of, const HostPath& path, const Traffic& traffic) {
    if (of.after.setting("tcp_ecn") != "1" || of.tcp_rose("TCPSynRetrans") == 0 || !traffic.is_one_new_without_ecn)
        return;
    of.add_cause_of_stalls(Cause::ecn_dropped,
        fmt::format("connections to {} are opened a second late: something on the way drops the first packet, which "
                    "offers ECN (tcp_ecn is 1), and the next one does not offer it.",
                    path.host),
        "sysctl -w net.ipv4.tcp_ecn=2, until the firewall or switch that drops them is mended.");
}

void judge_windows(Examination& of, const HostPath& path, const Traffic& traffic) {
    if (traffic.busy_us < busy_that_tells_us) return;
    // Without window scaling the window is small however fast the receiver is.
    if (2 * traffic.receiver_limited_us > traffic.busy_us && !is_window_scaling_off(of.after)) {
        const bool is_nearly_always = 10 * traffic.receiver_limited_us > 9 * traffic.busy_us;
        of.add(is_nearly_always ? Weight::loses : Weight::slows, Cause::receiver,
               fmt::format("{} receives too slowly: its receive window was full in {} % of the time in which there was "
                           "data to send.",
                           path.host, 100 * traffic.receiver_limited_us / traffic.busy_us),
               fmt::format("On {0}, ss -tmi tells whether its program leaves data unread (Recv-Q).  If it does not, "
                           "the buffer is too small: sysctl -w net.ipv4.tcp_rmem=\"4096 131072 6291456\"",
                           path.host));
    }
    if (2 * traffic.send_buffer_limited_us > traffic.busy_us) {
        of.add(Weight::slows, Cause::send_buffer,
               fmt::format("the send buffer (tcp_wmem, {}) was too small for the connections to {} in {} % of the time "
                           "in which there was data to send.",
                           of.after.setting("tcp_wmem"), path.host,
                           100 * traffic.send_buffer_limited_us / traffic.busy_us),
               "sysctl -w net.ipv4.tcp_wmem=\"4096 16384 4194304\", or a larger SO_SNDBUF where the program sets one.");
    }
}

/// Linux forgets a window that was not used for a time-out; BBR shrinks its own now and then.
void judge_restarts(Examination& of, const HostPath& path, const Traffic& traffic) {
    const std::string control = path.congestion_control.empty() ? of.after.setting("tcp_congestion_control")
                                                                : path.congestion_control;
    if (of.after.setting("tcp_slow_start_after_idle") != "1" || control.starts_with("bbr")) return;
    if (path.restarts < restarts_that_tell || traffic.least_rtt_us < rtt_of_restarts_us) return;
    of.add(Weight::slows, Cause::slow_start_after_idle,
           fmt::format("connections to {} began again with ten segments {} times after a pause "
                       "(tcp_slow_start_after_idle is 1), and each of several round trips takes {:.1f} ms.",
                       path.host, path.restarts, traffic.least_rtt_us / 1e3),
           "sysctl -w net.ipv4.tcp_slow_start_after_idle=0, if these connections are paced.");
}

/// Long round trips of full windows are a queue's, and those of single segments a receiver's that waits.
void judge_round_trips(Examination& of, const HostPath& path, const Traffic& traffic) {
    const std::uint32_t waited_us = traffic.rtt_us - std::min(traffic.rtt_us, traffic.least_rtt_us);
    if (traffic.busy_us < busy_that_tells_us || traffic.least_rtt_us == 0) return;
    if (traffic.segments_per_rtt() > 2) {
        if (waited_us < queue_that_tells_us || traffic.rtt_us < rtt_of_a_queue * traffic.least_rtt_us) return;
        of.add(Weight::slows, Cause::queue_on_the_way,
               fmt::format("packets to {} wait for {:.0f} ms in a queue on the way (round trips take {:.1f} ms, and "
                           "{:.1f} where nobody waits): a link there is slower than what is sent.",
                           path.host, waited_us / 1e3, traffic.rtt_us / 1e3, traffic.least_rtt_us / 1e3),
               "headway run --measure -- mpirun ./program sends no faster than that link, so that small messages do "
               "not wait behind large ones.");
    } else if (waited_us >= delayed_rtt_us && traffic.rtt_us > 8 * traffic.least_rtt_us && traffic.again == 0) {
        of.add(Weight::slows, Cause::delayed_acknowledgements,
               fmt::format("small messages to {} wait for delayed acknowledgements: round trips take {:.0f} ms, and "
                           "{:.2f} at best.",
                           path.host, traffic.rtt_us / 1e3, traffic.least_rtt_us / 1e3),
               "Let the program set TCP_NODELAY (MPI libraries do) or write a message at once; without it: ip route "
               "change ... quickack 1 on the receiver.");
    }
}

void judge_host(Examination& of, const HostPath& path) {
    const Traffic traffic = traffic_to(path, of.before);
    judge_silence(of, path);
    judge_full_segments(of, path, traffic);
    judge_ecn(of, path, traffic);
    judge_windows(of, path, traffic);
    judge_round_trips(of, path, traffic);
    judge_restarts(of, path, traffic);
}

void judge_selective_acknowledgements(Examination& of) {
    if (of.after.setting("tcp_sack") != "0") return;
    const Weight weight = !of.is_lossy() ? Weight::slows : of.sent.timeouts > 0 ? Weight::stalls : Weight::loses;
    of.add(weight, Cause::selective_acknowledgements,
           "selective acknowledgements are off (tcp_sack is 0): several losses in a window cost a round trip or a "
           "time-out each.",
           "sysctl -w net.ipv4.tcp_sack=1");
}

void judge_broken_segments(Examination& of) {
    const auto broken = of.tcp_rose("InCsumErrors");
    if (broken < broken_that_tell) return;
    of.add_cause_of_losses(Cause::checksums,
        fmt::format("{} arrived with a wrong checksum {}: a card, a cable or a switch on the way breaks packets.",
                    counted(broken, "segment"), in_seconds(of.seconds)),
        "ethtool -S at both ends, and the ports' error counters on the switches, tell which one.");
}

void judge_reordering(Examination& of) {
    const auto events = of.tcp_rose("TCPSACKReorder") + of.tcp_rose("TCPTSReorder");
    if (events < reorderings_that_tell) return;
    of.add(Weight::loses, Cause::reordering,
           fmt::format("packets have arrived out of order {} times {}.", events, in_seconds(of.seconds)),
           "Let switches and bonds choose links by a hash of addresses and ports (bonding's "
           "xmit_hash_policy=layer3+4), not packet by packet.");
}

void judge_losses(Examination& of) {
    if (of.sent.timeouts > 0) {
        of.add(Weight::stalls, Cause::time_outs,
               fmt::format("{} {}: each has held a connection for {:.0f} ms or more.",
                           counted(of.sent.timeouts, "retransmission time-out"), in_seconds(of.seconds),
                           least_rto_ms(of.after)),
               "headway run --measure -- mpirun ./program paces the exchanges that end in a burst into one "
               "link.  Without Headway a smaller rto_min on the route shortens each time-out (ip route "
               "change ... rto_min 5ms).");
        return;
    }
    if (!of.is_lossy()) return;
    of.add(Weight::loses, Cause::losses,
           fmt::format("{} of {} were sent again {}, without a time-out.", of.sent.again,
                       counted(of.sent.segments, "segment"), in_seconds(of.seconds)),
           "If it happens when many send at once, buffers are full: headway run --measure -- mpirun ./program paces "
           "the job.  If it happens to a single sender, too, a link is bad or has a rate limit: ethtool -S and the "
           "switches' counters, or headway measure --hosts LIST, find it.");
}

}  // namespace

void judge_connections(Examination& of) {
    judge_window_scaling(of);
    for (const HostPath& path : of.after.paths) judge_host(of, path);
    judge_selective_acknowledgements(of);
    judge_broken_segments(of);
}

void judge_what_was_lost(Examination& of) {
    judge_reordering(of);
    judge_losses(of);
}

}  // namespace headway

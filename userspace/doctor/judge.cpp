// SPDX-License-Identifier: Apache-2.0
#include "doctor/judge.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "doctor/examination.hpp"

namespace headway {
namespace {

constexpr double system_rto_min_ms = 200;  // TCP_RTO_MIN of Linux

template <class Counters>
std::uint64_t rise_of(const Counters& before, const Counters& after, const std::string& counter) {
    const auto earlier = before.find(counter), now = after.find(counter);
    if (now == after.end()) return 0;
    return earlier == before.end() ? now->second : now->second - std::min(earlier->second, now->second);
}

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
    const auto rose = [&](const char* name) { return rise_of(before.tcp, after.tcp, name); };
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

std::uint64_t Examination::tcp_rose(const char* counter) const { return rise_of(before.tcp, after.tcp, counter); }

std::uint64_t Examination::node_rose(const char* counter) const { return rise_of(before.node, after.node, counter); }

std::uint64_t Examination::device_rose(const std::string& name, const char* counter) const {
    const auto earlier = before.devices.find(name);
    if (earlier == before.devices.end()) return 0;
    return rise_of(earlier->second.counters, after.devices.at(name).counters, counter);
}

bool Examination::is_lossy() const {
    return static_cast<double>(sent.again) > retransmitted_share * static_cast<double>(sent.segments);
}

std::vector<Finding> Examination::findings() && {
    std::stable_sort(found_.begin(), found_.end(), [](const Finding& a, const Finding& b) {
        return a.weight < b.weight;
    });
    return std::move(found_);
}

std::string in_seconds(double seconds) {
    return seconds < 10 ? fmt::format("in {:.2g} s", seconds) : fmt::format("in {:.0f} s", seconds);
}

std::uint64_t number_in(const std::string& setting) {
    std::uint64_t value = 0;
    std::from_chars(setting.data(), setting.data() + setting.size(), value);
    return value;
}

std::vector<Finding> judge(const Look& before, const Look& after, std::chrono::duration<double> between) {
    Examination of(before, after, between.count());
    judge_what_the_node_drops(of);
    judge_connections(of);
    judge_devices(of);
    judge_what_was_lost(of);
    judge_settings_and_routes(of);
    judge_processors(of);
    judge_other_interfaces(of);
    judge_daemon(of);
    return std::move(of).findings();
}

}  // namespace headway

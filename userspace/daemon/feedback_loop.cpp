// SPDX-License-Identifier: Apache-2.0
#include "daemon/feedback_loop.hpp"

#include <algorithm>

#include <linux/netlink.h>

#include <utility>

#include <nlohmann/json.hpp>

#include "base/log.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds look_every = 1s;

/// Looking takes at most this part of the daemon's time, however many connections there are.
constexpr int looks_in_time = 50;

std::vector<IpPrefix> all_prefixes(const Topology& topology) {
    std::vector<IpPrefix> all;
    for (const Cluster& cluster : topology.clusters()) {
        all.insert(all.end(), cluster.prefixes.begin(), cluster.prefixes.end());
    }
    return all;
}

std::string factor_text(const DivisorFactor& factor) {
    return factor ? divisor_to_text(*factor) : "none";
}

double seconds(std::chrono::nanoseconds duration) {
    return std::chrono::duration<double>(duration).count();
}

}  // namespace

Feedback::Feedback(ControlService& service, const FeedbackBounds& bounds, spdlog::logger& log)
    : service_(service),
      log_(log),
      counts_(all_prefixes(service.planner().config().topology)),
      control_(bounds) {
    service_.status().show_feedback([this] { return status(); });
}

Feedback::~Feedback() { service_.status().show_feedback(nullptr); }

void Feedback::look(std::span<const TcpFlow> flows, std::optional<std::uint64_t> node_timeouts,
                    std::chrono::nanoseconds interval) {
    has_told_failure_ = false;
    const auto losses = counts_.look(flows, node_timeouts);
    // what is not paced says nothing of the plans
    if (!losses || service_.off()) return;
    all_.segments += losses->segments;
    all_.retransmissions += losses->retransmissions;
    all_.timeouts += losses->timeouts;
    if (const auto change = control_.look(*losses, interval)) {
        service_.distrust(change->to);
        log_info(log_, "changed the divisor factor {} -> {}: {} time-outs, {} of {} segments sent "
                 "again in {:.1f} s of traffic",
                 factor_text(change->from), factor_text(change->to), change->losses.timeouts,
                 change->losses.retransmissions, change->losses.segments, seconds(change->over));
    }
    if (!control_.is_at_its_bound()) {
        has_told_bound_ = false;
    } else if (!std::exchange(has_told_bound_, true)) {
        log_warning(log_, "HW-602 losing packets of paced connections at the largest divisor "
                          "factor, {}; compare the links' rates with those of headway.toml",
                    factor_text(control_.factor()));
    }
}

void Feedback::look_failed(const Error& error) {
    if (std::exchange(has_told_failure_, true)) return;
    log_warning(log_,
                "HW-601 cannot learn what connections lose, so there is no feedback: {}; try "
                "`modprobe tcp_diag`", error.message);
}

Json Feedback::status() const {
    const DivisorFactor factor = control_.factor();
    return {{"divisor_factor", factor ? Json(static_cast<double>(*factor) / divisor_one) : Json()},
            {"at_its_bound", control_.is_at_its_bound()},
            {"quiet_s", seconds(control_.quiet())},
            {"readable", !has_told_failure_},
            {"segments", all_.segments},
            {"retransmissions", all_.retransmissions},
            {"timeouts", all_.timeouts}};
}

FeedbackLoop::FeedbackLoop(EventLoop& loop, ControlService& service, spdlog::logger& log)
    : service_(service), log_(log), timer_(loop.timer([this] { tick(); })) {
    configured();
}

void FeedbackLoop::configured() {
    const auto& wanted = service_.planner().config().feedback;
    if (wanted == bounds_) return;
    bounds_ = wanted;
    feedback_.reset();
    set_timer(timer_, std::nullopt);
    if (service_.planner().divisor_factor()) service_.distrust(std::nullopt);
    if (!wanted) return;
    feedback_.emplace(service_, *wanted, log_);
    tick();
}

Result<std::vector<TcpFlow>> FeedbackLoop::read_flows() {
    if (!sockets_) {
        auto opened = MnlTransport::open(NETLINK_SOCK_DIAG);
        if (!opened) return tl::unexpected(opened.error());
        sockets_ = std::move(*opened);
    }
    return read_tcp_flows(*sockets_, all_prefixes(service_.planner().config().topology));
}

void FeedbackLoop::tick() {
    const auto now = clock_.now();
    if (const auto flows = read_flows()) {
        const auto tcp = read_tcp_counters();
        feedback_->look(*flows, tcp ? std::optional(tcp->timeouts) : std::nullopt,
                        now - looked_at_);
    } else {
        sockets_.reset();
        feedback_->look_failed(flows.error());
    }
    looked_at_ = now;
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(clock_.now() - now);
    start_timer(timer_, std::max<std::chrono::microseconds>(look_every, looks_in_time * took));
}

}  // namespace headway

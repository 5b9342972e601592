// SPDX-License-Identifier: Apache-2.0
#include "daemon/divisor_control.hpp"

#include <algorithm>
#include <utility>

namespace headway {
namespace {

/// Counters of 32 bits in the kernel may begin anew.
std::uint64_t growth(std::uint64_t now, std::uint64_t before) {
    return now < before ? 0 : now - before;
}

}  // namespace

bool FlowCounts::is_watched(const IpPrefix& remote) const {
    return std::any_of(destinations_.begin(), destinations_.end(),
                       [&](const IpPrefix& prefix) { return overlap(prefix, remote); });
}

std::optional<FlowLosses> FlowCounts::look(std::span<const TcpFlow> flows,
                                           std::optional<std::uint64_t> node_timeouts) {
    FlowLosses losses;
    std::uint64_t retransmissions_untold = 0;  // of flows that do not say how they came about
    std::unordered_map<std::uint64_t, FlowLosses> seen;
    for (const TcpFlow& flow : flows) {
        if (!is_watched(flow.remote)) continue;
        const FlowLosses old = seen_[flow.cookie];  // none of a new one
        const FlowLosses now{flow.segments, flow.needed_retransmissions(), flow.timeouts.value_or(0)};
        seen.emplace(flow.cookie, now);
        const std::uint64_t again = growth(now.retransmissions, old.retransmissions);
        losses.segments += growth(now.segments, old.segments);
        losses.retransmissions += again;
        losses.timeouts += growth(now.timeouts, old.timeouts);
        if (!flow.timeouts) retransmissions_untold += again;
    }
    if (node_timeouts && node_timeouts_) {
        losses.timeouts +=
            std::min(growth(*node_timeouts, *node_timeouts_), retransmissions_untold);
    }
    seen_ = std::move(seen);
    node_timeouts_ = node_timeouts;
    if (!std::exchange(has_looked_, true)) return std::nullopt;
    return losses;
}

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds timeout_costs = 200ms;  // Linux' least
constexpr std::chrono::nanoseconds looked_at = 10s;
constexpr std::chrono::nanoseconds longest_quiet = 1h;
constexpr std::uint32_t step = divisor_one / 10;
/// Below, a few segments more or less are no part of all.
constexpr std::uint64_t least_segments = 1'000;
constexpr int least_intervals = 2;

}  // namespace

DivisorControl::Interval DivisorControl::recent() const {
    Interval sum;
    for (const Interval& one : recent_) {
        sum.losses.segments += one.losses.segments;
        sum.losses.retransmissions += one.losses.retransmissions;
        sum.losses.timeouts += one.losses.timeouts;
        sum.length += one.length;
    }
    return sum;
}

bool DivisorControl::is_much_again(const FlowLosses& losses) const {
    return static_cast<double>(losses.retransmissions) >
           bounds_.retransmitted_max * static_cast<double>(losses.segments);
}

bool DivisorControl::is_too_much(const Interval& sum) const {
    if (sum.losses.segments >= least_segments && is_much_again(sum.losses)) return true;
    // those of an interval wait at the same time
    std::chrono::nanoseconds waited{};
    int intervals = 0;
    for (const Interval& one : recent_) {
        if (one.losses.timeouts == 0) continue;
        ++intervals;
        waited += std::min(one.length, timeout_costs);
    }
    return intervals >= least_intervals && waited * (divisor_one / step) > sum.length;
}

FactorChange DivisorControl::change_to(DivisorFactor to, const Interval& why) {
    recent_.clear();
    calm_ = {};
    has_just_changed_ = true;
    return {std::exchange(factor_, to), to, why.losses, why.length};
}

std::optional<FactorChange> DivisorControl::raise(const Interval& sum) {
    if (std::exchange(was_lowered_, false)) quiet_ = std::min(2 * quiet_, longest_quiet);
    const std::uint32_t most = bounds_.divisor_factor_max_thousandths;
    const std::uint32_t up = factor_ ? std::min(*factor_ + step, most) : divisor_one;
    if (up == factor_) {
        is_at_its_bound_ = true;
        return std::nullopt;
    }
    return change_to(up, sum);
}

std::optional<FactorChange> DivisorControl::lower() {
    is_at_its_bound_ = false;
    if (std::exchange(was_lowered_, factor_.has_value())) {
        quiet_ = std::max<std::chrono::nanoseconds>(quiet_ / 2, bounds_.quiet);
    }
    const Interval why = std::exchange(calm_, {});
    if (!factor_) return std::nullopt;
    if (*factor_ == divisor_one) return change_to(std::nullopt, why);
    return change_to(std::max(*factor_ - step, divisor_one), why);
}

std::optional<FactorChange> DivisorControl::look(const FlowLosses& losses,
                                                 std::chrono::nanoseconds interval) {
    if (losses == FlowLosses{}) return std::nullopt;
    // it began with the rates of before
    if (std::exchange(has_just_changed_, false)) return std::nullopt;
    recent_.push_back({losses, interval});
    Interval sum = recent();
    while (recent_.size() > 1 && sum.length - recent_.front().length >= looked_at) {
        recent_.pop_front();
        sum = recent();
    }
    if (losses.timeouts > 0 || is_much_again(losses)) {
        calm_ = {};
        return is_too_much(sum) ? raise(sum) : std::nullopt;
    }
    calm_.losses.segments += losses.segments;
    calm_.losses.retransmissions += losses.retransmissions;
    calm_.length += interval;
    return calm_.length >= quiet_ ? lower() : std::nullopt;
}

}  // namespace headway

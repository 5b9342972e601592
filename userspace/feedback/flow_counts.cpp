// SPDX-License-Identifier: Apache-2.0
#include "feedback/flow_counts.hpp"

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
        const FlowLosses now{flow.segments, flow.retransmissions, flow.timeouts.value_or(0)};
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

}  // namespace headway

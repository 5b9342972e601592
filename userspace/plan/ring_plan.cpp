// SPDX-License-Identifier: Apache-2.0
#include "plan/ring_plan.hpp"

#include <algorithm>

#include "base/wire.hpp"

namespace headway {
namespace {

/// From an MPI call to that at the other end, over TCP, at the least.
constexpr double least_latency_s = 50e-6;

/// A ring may take so many times as long as sending all at once, which risks time-outs.
constexpr double no_longer = 1.05;

double steps_of(RingOperation operation, double hosts) {
    return operation == RingOperation::chain ? hosts + std::max(0.0, hosts - 2) / 4 : hosts - 1;
}

/// Edges do not count: the libraries' algorithms have a host receive from one at a time.
bool has_contended_trunk(const ExchangeNetwork& network) {
    const auto contended = network.contended_links();
    for (std::size_t l = 0; l < contended.size(); ++l) {
        if (contended[l] && network.links[l].is_trunk()) return true;
    }
    return false;
}

double slowest_link_bps(const ExchangeNetwork& network) {
    double slowest = fluid_no_cap;
    for (const FluidGroup& group : network.fluid.groups) {
        for (const FluidUse& use : group.path)
            slowest = std::min(slowest, network.fluid.links[use.link].capacity_bps);
    }
    return slowest;
}

Prediction predict_ring(double hosts, RingOperation operation, double step_s) {
    Prediction prediction;
    prediction.low_s = prediction.high_s = steps_of(operation, hosts) * step_s;
    prediction.reason = fmt::format("as long as {:.10g} steps around a ring of {:.0f} hosts, each {}",
                                    steps_of(operation, hosts), hosts, seconds_text(step_s));
    return prediction;
}

}  // namespace

Result<RingPlan> plan_ring(const Topology& topology, const PlanPolicy& policy,
                           const AllToAllPattern& pattern, RingOperation operation,
                           std::optional<std::uint64_t> step_bytes) {
    const auto together = plan_collective(topology, policy, pattern, step_bytes);
    if (!together) return tl::unexpected(together.error());
    if (!together->is_paced()) {
        return RingPlan{false, "no ring is needed: " + together->shares.reason, {}};
    }
    const auto bytes = static_cast<double>(step_bytes.value_or(1));
    const ExchangeNetwork network(topology, exchange_among(together->shares.hosts, bytes), 1);
    if (!has_contended_trunk(network)) {
        return RingPlan{false, "no ring is needed: each trunk carries all that its hosts send", {}};
    }
    RingPlan plan{true,
                  "a ring has one stream on each link; all at once, " + together->shares.reason,
                  {}};
    if (!step_bytes) return plan;
    const double step_s =
        8.0 * static_cast<double>(tcp_wire_bytes(*step_bytes * pattern.ranks_per_host)) /
            slowest_link_bps(network) +
        std::max(least_latency_s, network.latency_s());
    plan.predicted =
        predict_ring(static_cast<double>(pattern.communicator.total()), operation, step_s);
    const double together_s = together->unpaced->low_s;
    if (plan.predicted->low_s <= together_s * no_longer) return plan;
    return RingPlan{false,
                    fmt::format("a ring would take {}, all at once {}",
                                seconds_text(plan.predicted->low_s), seconds_text(together_s)),
                    {}};
}

}  // namespace headway

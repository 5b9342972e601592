// SPDX-License-Identifier: Apache-2.0
// Rates for a program that sends point to point, from who sends how much to whom.
//
// Source: Headway's own.  Takano et al. divide a trunk by the number of hosts that
// send through it (MATB) and name a profiling run as the way to know them; this
// divides every link, trunks and receivers' edges alike, by what each host sends.
//
// Nothing is known of sizes and order: not of the messages, which a buffer might
// hold, nor which of them are under way at the same time.  So
//   contended  is a link into which hosts that use it can put more than it carries.
//              A class without a flow through such a link is not limited.
//   light      are the smallest flows that together are no more than a fiftieth of
//              all: a table sent once at the start, say.  No link is divided for
//              them.  A class with light flows only has the least rate of the plan.
//   the rest   gets rates at which all would end at the same moment, each counted
//              as an eighth of the largest at least, so that none is starved.
//
// Of one call of a collective all messages are known, and that they are under way from the
// beginning to the end, each in proportion to its size.  Then no flow is light, and
// acknowledgements count, which are a good part of what goes back where little else does.
//
// Costs: proportional to hosts * hosts + flows * log(flows); nothing is simulated.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/alltoall_plan.hpp"
#include "plan/exchange.hpp"

namespace headway {

/// Payload from one host to another, in bytes or any other unit: only proportions
/// matter.
struct HostFlow {
    std::uint32_t from = 0;  ///< places among the hosts
    std::uint32_t to = 0;
    double bytes = 0;

    friend auto operator<=>(const HostFlow&, const HostFlow&) = default;
};

/// Says whether flows are a whole program's or one call's.
enum class FlowsOf { program, one_call };

struct TrafficPlan {
    bool paced = false;
    std::string reason;
    RatesByCluster rates;  ///< of each host towards each cluster; empty: not paced
    double end_s = 0;      ///< until when all have ended at these rates, if amounts are bytes
};

/// `hosts`: numbers of the topology, each once.  Flows between the same two hosts
/// add up; those of a host to itself do not count.  Fails if a share is less than
/// the slowest rate there is.
[[nodiscard]] Result<TrafficPlan> plan_traffic(const Topology& topology, const PlanPolicy& policy,
                                               const std::vector<std::size_t>& hosts,
                                               std::span<const HostFlow> flows,
                                               FlowsOf what = FlowsOf::program);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// Whether a collective in which all hosts need the same data should go around a ring.
//
// Source: Headway's own, after the usual ring algorithms (each step one message from
// everybody to the next) and Takano et al.'s reason to pace: several hosts in front
// of one trunk.
//
// A ring that goes through one cluster after the other has one stream in each
// direction of each link, so nothing can pile up but where a link is slower than the
// one before it, and that one stream's rate follows from the links (`traffic_plan.hpp`).
// Any other algorithm has several hosts send over a trunk at the same time in some step,
// in messages that are no smaller.  So
//   a ring is named   where hosts can overfill a trunk, no buffer holds what is too much of an
//                     all-to-all of the step's messages, and a ring takes no longer than that.
//   else              the library's own choice is left to it: it may have fewer steps.
//
// Predicted time, for H hosts of R ranks and m bytes of each rank a step, over the slowest link
// used, of rate b and latency L >= 50 us:  S (wire(R m) / b + L), with S = H - 1 (allgather), and
// for a chain of H R m bytes H + (H - 2) / 4, as it has segments of a quarter of R m.  What ranks
// of a host do among themselves is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/planner.hpp"

namespace headway {

enum class RingOperation { allgather, chain };

struct RingPlan {
    bool is_named = false;
    std::string reason;
    std::optional<Prediction> predicted;  ///< with a size, of a ring that is named
};

/// `step_bytes`: payload of one step for each rank of a host; none: of any size.  Fails as
/// plan_collective().
[[nodiscard]] Result<RingPlan> plan_ring(const Topology& topology, const PlanPolicy& policy,
                                         const AllToAllPattern& pattern, RingOperation operation,
                                         std::optional<std::uint64_t> step_bytes);

}  // namespace headway

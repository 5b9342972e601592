// SPDX-License-Identifier: Apache-2.0
// Decides whether a collective is paced, how fast, and with which algorithm.
//
// Source: Headway's own; it puts together the division of links that Takano et
// al. propose (alltoall_plan.hpp), bidirectional max-min fairness after Zhu et
// al. and PlogPT's time-outs (both in fluid.hpp).
//
// Vocabulary
//   prediction   the time of the collective as a range: without any time-out, and
//                with one for each link of a path whose buffer may overflow
//   share        the part of the senders by which a trunk is divided.  1: they ask
//                for what the trunk has (MATB).  Less: for more, as long as the
//                buffer in front of the trunk holds the surplus.  More than 1: for less
//                of every link, because frames of many hosts meet by chance (fluid.hpp)
//
// How it decides
//   1. Predicted unpaced.  If no buffer can overflow, nothing is paced.
//   2. The share: the smallest in thousandths at which no buffer overflows, nor loses frames by
//      chance beside what has piled up, and 1,
//      are predicted with the classes' rates as caps.  The least upper end of the
//      predicted time wins; of equals the one with the higher rates.
//      Where a known buffer would lose more than a millionth of the frames by chance at 1, it is
//      the least share up to 2 with which it does not.  An exchange that is no all-to-all is not
//      paced if it would lose more than a thousandth: the library's own algorithm has fewer hosts
//      send at a time.
//   3. If even that is later than the upper end unpaced, pacing cannot help.  What it leaves
//      free of the links is not counted for that: an exchange that loses packets does not fill
//      them either, however long it is.
//   Where measured exchanges lost packets, of the same kind or with as much piling up
//   (planner_measured.hpp), that time decides instead of 3: it is paced if that is faster by more
//   than is known, 5 %; also where
//   no buffer should overflow, but then without relying on buffers.
//   A fixed divisor (policy) replaces step 2, and a divisor factor above 1, which says
//   that predictions are too good, steps 2 and 3.  Without a message size any surplus
//   counts as too much, and step 3 is left out.
//   Links may be used up to the target utilisation when paced.
//
// Worked example: the demo, two clusters of 4, edges 20 Mbit/s, trunk 25 Mbit/s,
// 64 KiB per pair (69 676 wire bytes with headers), buffers unknown.  Over the
// trunk 16 messages, 1.115 MB.  Unpaced 80 Mbit/s can come to the trunk, which
// takes 0.357 s, and a burst of 7 senders to one receiver: two time-outs are
// possible, 0.357 .. 0.757 s.  Paced at 24.75 / 4 = 6.1875 Mbit/s per node: 0.360 s,
// nothing overflows: the upper end is earlier.
//
// Limits: the exchange is alone on its links; messages all have the same size
// and start together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/model_progress.hpp"
#include "plan/alltoall_plan.hpp"
#include "plan/prediction.hpp"

namespace headway {

struct CollectivePlan {
    AllToAllPlan shares;  ///< rates, and why; not paced: no rates
    std::optional<std::uint64_t> message_bytes;
    /// A plan without a message size has no times.
    std::optional<Prediction> unpaced;
    std::optional<Prediction> paced;  ///< with a plan that paces

    [[nodiscard]] bool is_paced() const { return shares.paced(); }
};

/// Plans an all-to-all.  As plan_alltoall(), which it divides the links with.
[[nodiscard]] Result<CollectivePlan> plan_collective(const Topology& topology,
                                                     const PlanPolicy& policy,
                                                     const AllToAllPattern& pattern,
                                                     std::optional<std::uint64_t> message_bytes);

/// The link of the network that is busy longest; none: nothing is sent.
[[nodiscard]] std::optional<RatedLink> busiest_link(const ExchangeNetwork& network);

/// A plan of any exchange: of each group of hosts, towards each cluster.
struct ExchangePlan {
    bool paced = false;
    std::string reason;
    std::optional<RatedLink> limit;  ///< the link that is busy longest; none: nothing is sent
    RatesByCluster rates;  ///< of each group of hosts; none: sends nothing there
    Prediction unpaced;
    std::optional<Prediction> chosen;
};

/// Plans any exchange: all messages would end at the same moment T, the earliest
/// that every link allows, so each gets its bytes / T; then as above, with the
/// rates raised together instead of a share.
[[nodiscard]] Result<ExchangePlan> plan_exchange(const Topology& topology,
                                                 const PlanPolicy& policy,
                                                 const Exchange& exchange,
                                                 const ModelProgress& progress = {});

}  // namespace headway

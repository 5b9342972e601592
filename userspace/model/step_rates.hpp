// SPDX-License-Identifier: Apache-2.0
// How fast each host may send in each step of a stepwise all-to-all: in a step
// fewer hosts cross a trunk than in all, and those may send faster.
//
// Source: Headway's own; the division of links of alltoall_plan.hpp for those
// who send in a step.
//
// Vocabulary
//   ranks   P of them, some on the same host.  In step s = 1, 2 ... rank r sends
//           one message to r + s mod P (ring) or r xor s, if there is such a rank
//   class   what a host sends to the hosts of one cluster in a step: n messages
//   block   neighbouring steps with the same rates, each the least of its steps';
//           there are at most step_blocks_max, for each is a phase
//
// Equation, over the links l of the messages' paths (trunks, receivers' edges):
//   rate of a class = n * min_l(U capacity_l / w_l)
//   w_l = sum of the n of all classes that have any message across l
// A class may give all its rate to one of its destinations, as when the message
// to the other has ended, so it counts on a link with all its messages.  The
// rates of the classes across any link add up to U capacity_l at most.
//
// With a fixed divisor D (policy) trunks have D / senders of their capacity less,
// senders being the hosts that cross them in the whole exchange.
//
// Example: two clusters of 4 hosts, one rank each, trunk 25 Mbit/s, edges 20,
// U = 0.99.  Ring: step 1 takes rank 3 alone across, at 19.8 Mbit/s, its
// receiver's edge; step 2 two ranks, 12.4 Mbit/s; step 4 all four, 6.19 Mbit/s.
//
// Limits: all ranks are in the same step.  A rank that is a step ahead would add
// its rate to those of the others' step; so whoever uses these rates must wait
// for all before each step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/planner.hpp"

namespace headway {

inline constexpr std::size_t step_blocks_max = 16;
/// Beyond, it takes too long for a daemon whose clients wait.
inline constexpr std::size_t step_ranks_max = 512;

/// Where the ranks of a communicator are.
struct RankPlaces {
    std::vector<std::size_t> cluster_of_host;
    std::vector<std::uint32_t> host_of_rank;

    friend bool operator==(const RankPlaces&, const RankPlaces&) = default;
};

struct StepBlock {
    std::uint32_t first_step = 1;  ///< up to that of the next block
    /// rates[host][cluster]; none: the host sends nothing there.
    std::vector<std::vector<std::optional<BytesPerSecond>>> rates;
};

struct StepPlan {
    std::vector<StepBlock> blocks;
    std::optional<Prediction> predicted;  ///< with a message size
};

/// pairwise_ring and pairwise_xor go in steps.
[[nodiscard]] bool is_stepwise(AllToAllAlgorithm algorithm);

/// `algorithm` is a stepwise one.  Fails for too many ranks, and if a rate would
/// be less than 1 byte/s.
[[nodiscard]] Result<StepPlan> plan_steps(const Topology& topology, const PlanPolicy& policy,
                                          const RankPlaces& places, AllToAllAlgorithm algorithm,
                                          std::optional<std::uint64_t> message_bytes);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// How long an all-to-all takes by algorithm, that is by the order in which its messages are
// sent.  Source and vocabulary: plan/planner.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plan/planner.hpp"

namespace headway {

enum class AllToAllAlgorithm { linear, pairwise_ring, pairwise_xor, alltoall_b, grid };
inline constexpr std::size_t all_to_all_algorithm_count = 5;

/// The names are everywhere the same: in `headway plan`, in headway.toml, in the
/// control protocol and in the MPI helper, which carries the algorithms out.
///   linear         every message at once
///   pairwise_ring  steps, in step s to the one s further and from the one s
///                  before; each waits for the step before
///   pairwise_xor   steps, in step s an exchange with number xor s: of a power of
///                  two, PlogPT's A (plogpt_program.hpp)
///   alltoall_b     PlogPT's B, predicted for a power of two
///   grid           Steffenel's two phases (contention.hpp), predicted for two clusters
[[nodiscard]] std::string_view algorithm_name(AllToAllAlgorithm algorithm);

struct AlgorithmTime {
    AllToAllAlgorithm algorithm = AllToAllAlgorithm::linear;
    Prediction unpaced;
    Prediction paced;  ///< at the rates of the plan; as unpaced without any
};

/// The largest communicator whose steps are predicted one by one.
inline constexpr std::uint32_t stepwise_hosts_max = 2048;

/// Every algorithm that fits, with and without the plan's rates; one rank on
/// each host, or all ranks of a host as one that sends `message_bytes`.
[[nodiscard]] std::vector<AlgorithmTime> predict_algorithms(const Topology& topology,
                                                            const PlanPolicy& policy,
                                                            const AllToAllPlan& plan,
                                                            std::uint64_t message_bytes);

/// The one that ends first at the latest, as planned; of equals the first.  None
/// of none.
[[nodiscard]] const AlgorithmTime* best_algorithm(std::span<const AlgorithmTime> times);

/// What the node may send towards all remote clusters together: its MATB.
[[nodiscard]] BytesPerSecond remote_rate(const AllToAllPlan& plan, std::size_t cluster);

/// Bytes in flight that one pair needs to use its rate: x times the round trip
/// over the trunks.  Sockets with smaller buffers are slower than planned.
[[nodiscard]] std::uint64_t pair_window_bytes(const AllToAllPlan& plan, const Topology& topology,
                                              std::size_t from, std::size_t to);

}  // namespace headway

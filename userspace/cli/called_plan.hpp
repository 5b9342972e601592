// SPDX-License-Identifier: Apache-2.0
// What becomes of a call under the MPI helper: the helper finds the algorithm of its own that
// the call may take (libheadway/able_algorithm.hpp), asks headwayd whether the plan names it, and
// then for the rates of the one that runs (libheadway/session.cpp).  This asks the daemon's own
// planner in the same order, so that `headway plan` shows what headwayd will do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jobs/node_planner.hpp"
#include "operation.hpp"

namespace headway {

struct CalledPlan {
    NodePlan plan;  ///< of this node; paced as it will be
    glue::Algorithm algorithm = glue::Algorithm::native;  ///< that runs
    /// The helper asks headwayd for this: the call, or the traffic between the call's hosts.
    CollectiveHosts hosts;
    std::optional<std::uint64_t> message_bytes;
    /// The time of the algorithm that runs, with a message size; none: no model of it is known.
    std::optional<Prediction> predicted;
    /// What the ring that runs sends at a time: of a broadcast a part of the data for each rank.
    std::optional<std::uint64_t> step_bytes;
    std::string no_ring;  ///< why the operation does not go around a ring, though it could
};

/// `hosts.algorithm` is not read.  Fails as NodePlanner::plan().
[[nodiscard]] Result<CalledPlan> plan_call(const NodePlanner& planner, const CollectiveHosts& hosts,
                                           std::optional<std::uint64_t> message_bytes);

/// Messages around the ring that the helper makes: one cluster's hosts after the other's, in the
/// order of their first.
[[nodiscard]] TrafficRequest ring_traffic(const Topology& topology,
                                          const std::vector<std::string>& hosts);

/// Makes the request in which the helper tells the bytes from the i-th host to the j-th
/// (libheadway/traffic_request.cpp), in thousandths of the largest amount.
[[nodiscard]] TrafficRequest matrix_traffic(const std::vector<std::string>& hosts,
                                            const std::vector<std::vector<double>>& bytes);

}  // namespace headway

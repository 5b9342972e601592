// SPDX-License-Identifier: Apache-2.0
// A plan as `headway plan` shows it: the same members whatever was planned.  Its decision,
// algorithm and rates are those of headwayd (called_plan.hpp); times and limiting links are of
// the plans that those are made from.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/called_plan.hpp"
#include "cli/network_options.hpp"
#include "jobs/plan_json.hpp"
#include "kernel/kernel_layout.hpp"
#include "models/alltoall_algorithms.hpp"
#include "models/predict_models.hpp"
#include "plan/burst.hpp"

namespace headway {

/// A node whose classes are shown.
struct ShownNode {
    std::string name;
    KernelLayout layout;
    std::vector<ClassBurst> bursts;  ///< by cluster
    std::vector<ClassRate> rates;    ///< of each class
    BytesPerSecond remote;           ///< towards all other clusters together
    std::uint64_t window_bytes = 0;  ///< that its farthest pair needs in flight
};

struct ShownPlan {
    std::string collective;  ///< "all-to-all of 8 hosts: 4 of a, 4 of b"
    bool paced = false;      ///< by size as well
    std::string reason;
    glue::Algorithm runs = glue::Algorithm::native;  ///< under the MPI helper
    std::vector<std::pair<std::string, std::string>> facts;  ///< "senders", "4"
    std::vector<std::string> notes;
    std::optional<Prediction> unpaced;
    std::optional<Prediction> planned;
    std::vector<AlgorithmTime> algorithms;  ///< none without a message size
    std::optional<ModelTimes> models;        ///< what each says; none without a message size
    std::vector<ShownNode> nodes;
    Json json;  ///< all but nodes and algorithms
};

/// Plans the call for so many of the pattern's hosts in each cluster, as its first host sees it.
[[nodiscard]] Result<CalledPlan> plan_of_hosts(const ChosenPattern& pattern, const HostCounts& counts,
                                               std::uint32_t ranks_per_host,
                                               std::uint64_t message_bytes);

/// Plans the pattern as headwayd plans it under the MPI helper.  A node that takes no part has no
/// rates.
[[nodiscard]] Result<ShownPlan> show_plan(const ChosenPattern& pattern, std::uint32_t ranks_per_host,
                                          std::optional<std::uint64_t> message_bytes,
                                          const std::vector<std::string>& nodes);

}  // namespace headway

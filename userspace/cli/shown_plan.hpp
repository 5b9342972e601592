// SPDX-License-Identifier: Apache-2.0
// A plan as `headway plan` shows it: the same members whether an all-to-all was
// planned, with its equal shares, or any other exchange, host by host.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/network_options.hpp"
#include "jobs/plan_json.hpp"
#include "kernel/kernel_layout.hpp"
#include "plan/planner.hpp"

namespace headway {

/// A node whose classes are shown.
struct ShownNode {
    std::string name;
    KernelLayout layout;
    std::vector<ClassRate> rates;    ///< of each class
    BytesPerSecond remote;           ///< towards all other clusters together
    std::uint64_t window_bytes = 0;  ///< that its farthest pair needs in flight
};

struct ShownPlan {
    std::string collective;  ///< "all-to-all of 8 hosts: 4 of a, 4 of b"
    bool paced = false;      ///< by size as well
    std::string reason;
    std::vector<std::pair<std::string, std::string>> facts;  ///< "senders", "4"
    std::vector<std::string> notes;
    std::optional<Prediction> unpaced;
    std::optional<Prediction> planned;
    std::vector<AlgorithmTime> algorithms;  ///< none without a message size
    std::vector<ShownNode> nodes;
    Json json;  ///< all but nodes and algorithms
};

/// An all-to-all; none of the nodes need to take part.
[[nodiscard]] Result<ShownPlan> show_alltoall(const ChosenPattern& pattern,
                                              std::uint32_t ranks_per_host,
                                              std::optional<std::uint64_t> message_bytes,
                                              const std::vector<std::string>& nodes);

/// Any other operation, which needs a message size, or a matrix.
[[nodiscard]] Result<ShownPlan> show_exchange(const ChosenPattern& pattern,
                                              std::uint32_t ranks_per_host,
                                              std::optional<std::uint64_t> message_bytes,
                                              const std::vector<std::string>& nodes,
                                              const ModelProgress& progress);

}  // namespace headway

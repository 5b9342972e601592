// SPDX-License-Identifier: Apache-2.0
// Plans as JSON: the answer to "plan" and the output of `headway plan --json`.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "jobs/node_planner.hpp"
#include "kernel/kernel_layout.hpp"
#include "plan/planner.hpp"
#include "protocol/protocol.hpp"

namespace headway {

/// An object of so many members at most, which are put into it without moving those before.  A list of pairs
/// would be copied twice.
[[nodiscard]] Json object_for(std::size_t members);

/// The name, or null: the library's own.
[[nodiscard]] Json algorithm_json(const NodePlan& plan);

/// A rate for a machine: bytes per second of wire time, null for unlimited.
[[nodiscard]] Json rate_json(const ClassRate& rate);

/// [{"classid":"1:11","cluster":"b","bytes_per_s":773437}, ...]
[[nodiscard]] Json class_rates_json(const Topology& topology, const KernelLayout& layout,
                                    const std::vector<ClassRate>& rates);

/// Everything about the plan that does not depend on a node.
[[nodiscard]] Json plan_json(const Topology& topology, const PlanPolicy& policy,
                             const CollectivePlan& plan);

/// {"kind", "cluster", "bits_per_s"}, and "hashed" of several links: {"links", "link_bits_per_s", "flows",
/// "expected_fill", "worst_fill"}
[[nodiscard]] Json link_json(const Topology& topology, const RatedLink& link);

/// "trunk_up"
[[nodiscard]] std::string_view kind_name(LinkKind kind);

/// {"low_s", "high_s", "timeouts", "reason", "measured": {"time_s", "source", "was_lossy",
/// "timeout_part"} or null}
[[nodiscard]] Json prediction_json(const Prediction& prediction);

}  // namespace headway

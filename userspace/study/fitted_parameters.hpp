// SPDX-License-Identifier: Apache-2.0
// What was fitted to measurements of a network, for models that need it.
#pragma once

#include <optional>

#include "model/plogp.hpp"
#include "model/plogpt_tree.hpp"
#include "plan/planner_measured.hpp"

namespace headway {

struct FittedPlogpt {
    PlogptTree tree;
    GapTable gap;          ///< g(m)
    double latency_s = 0;  ///< L
};

struct FittedParameters {
    std::optional<FittedContention> contention;
    std::optional<FittedManyToOne> many_to_one;
    std::optional<FittedPlogpt> plogpt;
};

}  // namespace headway

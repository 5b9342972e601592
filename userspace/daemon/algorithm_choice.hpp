// SPDX-License-Identifier: Apache-2.0
// What a client says about the algorithm of its collective.
#pragma once

#include <bitset>
#include <optional>

#include "model/planner.hpp"

namespace headway {

/// Neither: it is the MPI library's, whatever that takes.
struct AlgorithmChoice {
    /// It will be carried out so: the plan is for that.
    std::optional<AllToAllAlgorithm> fixed;
    /// The client can carry out these: the plan may name one.
    std::bitset<all_to_all_algorithm_count> able;
    /// ... and a ring, ring_plan.hpp: the plan may say that it should.
    bool able_to_ring = false;

    friend bool operator==(const AlgorithmChoice&, const AlgorithmChoice&) = default;
};

}  // namespace headway

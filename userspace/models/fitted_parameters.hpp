// SPDX-License-Identifier: Apache-2.0
// What was fitted to measurements of a network, for models that need it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/contention.hpp"
#include "models/many_to_one.hpp"
#include "models/plogp.hpp"
#include "models/plogpt_tree.hpp"

namespace headway {

struct FittedContention {
    ContentionSignature signature;
    TransmissionCost cost;
    std::uint64_t processes = 0;  ///< of the measurements
};

struct FittedManyToOne {
    std::vector<DelayedPath> sources;  ///< at least one
    ManyToOneRegions regions;
    std::optional<double> buffered_bytes{};  ///< S of (2), of the one-to-many; may be infinite
};

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

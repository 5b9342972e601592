// SPDX-License-Identifier: Apache-2.0
// The algorithms that rates can be for, and what a client says about the one of its
// collective.
#pragma once

#include <optional>
#include <string_view>

namespace headway {

enum class ClientAlgorithm {
    linear,  ///< every message is under way at once
    ring,    ///< ring_plan.hpp
};

/// As the control protocol spells it.
[[nodiscard]] constexpr std::string_view name_of(ClientAlgorithm algorithm) {
    return algorithm == ClientAlgorithm::linear ? "linear" : "ring";
}

/// None of the three: it is the MPI library's, whatever that takes.
struct AlgorithmChoice {
    bool is_linear = false;       ///< it will be carried out so: the plan is for that
    bool able_to_linear = false;  ///< the plan may say that it should
    bool able_to_ring = false;

    friend auto operator<=>(const AlgorithmChoice&, const AlgorithmChoice&) = default;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// Names of the all-to-all's algorithms, apart from the planner: who reads a name
// need not be linked with the models.
#include <algorithm>
#include <array>

#include "model/planner.hpp"

namespace headway {
namespace {

/// In the order of AllToAllAlgorithm.
constexpr std::array<std::string_view, all_to_all_algorithm_count> algorithm_names{
    "linear", "pairwise_ring", "pairwise_xor", "alltoall_b", "grid"};

}  // namespace

std::string_view algorithm_name(AllToAllAlgorithm algorithm) {
    return algorithm_names[static_cast<std::size_t>(algorithm)];
}

std::optional<AllToAllAlgorithm> parse_algorithm(std::string_view name) {
    const auto* const found = std::find(algorithm_names.begin(), algorithm_names.end(), name);
    if (found == algorithm_names.end()) return std::nullopt;
    return static_cast<AllToAllAlgorithm>(found - algorithm_names.begin());
}

}  // namespace headway

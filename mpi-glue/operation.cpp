// SPDX-License-Identifier: MIT
#include "operation.hpp"

#include <utility>

namespace headway::glue {
namespace {

constexpr std::array<const char*, operation_count> names{
    "alltoall",           "alltoallv",           "alltoallw",
    "allgather",          "allgatherv",          "gather",
    "gatherv",            "scatter",             "scatterv",
    "bcast",              "reduce",              "allreduce",
    "reduce_scatter",     "reduce_scatter_block", "neighbor_allgather",
    "neighbor_allgatherv", "neighbor_alltoall",   "neighbor_alltoallv",
    "neighbor_alltoallw",
};

constexpr std::array algorithms{
    std::pair{"linear", Algorithm::linear},
    std::pair{"pairwise_xor", Algorithm::pairwise_xor},
    std::pair{"pairwise_ring", Algorithm::pairwise_ring},
    std::pair{"alltoall_a", Algorithm::alltoall_a},
    std::pair{"alltoall_b", Algorithm::alltoall_b},
    std::pair{"grid", Algorithm::grid},
};

}  // namespace

const char* name_of(Operation operation) { return names[static_cast<std::size_t>(operation)]; }

const char* name_of(Algorithm algorithm) {
    for (const auto& [name, known] : algorithms) {
        if (algorithm == known) return name;
    }
    return "native";
}

Algorithm algorithm_named(std::string_view name) {
    for (const auto& [known, algorithm] : algorithms) {
        if (name == known) return algorithm;
    }
    return Algorithm::native;
}

}  // namespace headway::glue

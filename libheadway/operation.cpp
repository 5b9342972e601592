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

using enum Algorithm;

constexpr std::array algorithms{
    std::pair{"native", native},
    std::pair{"linear", linear},
    std::pair{"node_aware", node_aware},
    std::pair{"ring", ring},
};

}  // namespace

const char* name_of(Operation operation) { return names[static_cast<std::size_t>(operation)]; }

Algorithm own_algorithm_of(Operation operation) {
    if (goes_round(operation)) return ring;
    return is_among_neighbours(operation) ? native : linear;
}

const char* name_of(Algorithm algorithm) {
    for (const auto& [name, known] : algorithms) {
        if (algorithm == known) return name;
    }
    return "unknown";
}

Algorithm algorithm_named(std::string_view name) {
    for (const auto& [known, algorithm] : algorithms) {
        if (name == known) return algorithm;
    }
    return unknown;
}

}  // namespace headway::glue

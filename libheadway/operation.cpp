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
    std::pair{"pairwise_ring", pairwise_ring},
    std::pair{"pairwise_xor", pairwise_xor},
    std::pair{"alltoall_b", alltoall_b},
    std::pair{"grid", grid},
    std::pair{"ring", ring},
};

constexpr std::array of_alltoalls{linear, pairwise_ring, pairwise_xor, alltoall_b, grid};
constexpr std::array of_rooted{linear};
constexpr std::array of_round{ring};

}  // namespace

const char* name_of(Operation operation) { return names[static_cast<std::size_t>(operation)]; }

std::span<const Algorithm> own_algorithms_of(Operation operation) {
    switch (operation) {
        case Operation::alltoall:
        case Operation::alltoallv:
        case Operation::alltoallw: return of_alltoalls;
        case Operation::gather:
        case Operation::gatherv:
        case Operation::scatter:
        case Operation::scatterv: return of_rooted;
        default: break;
    }
    if (goes_round(operation)) return of_round;
    return {};
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

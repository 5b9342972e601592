// SPDX-License-Identifier: MIT
#include "operation.hpp"

#include <algorithm>
#include <utility>

#include "able_algorithm.hpp"

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
    std::pair{"ring", ring},
};

}  // namespace

const char* name_of(Operation operation) { return names[static_cast<std::size_t>(operation)]; }

std::optional<Operation> operation_named(std::string_view name) {
    const auto* const found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return static_cast<Operation>(found - names.begin());
}

Algorithm own_algorithm_of(Operation operation) {
    if (goes_round(operation)) return ring;
    return is_total_exchange(operation) || is_rooted_exchange(operation) ? linear : native;
}

Algorithm able_algorithm(Operation operation, std::uint64_t bytes, std::uint64_t ranks,
                         std::uint64_t min_message_bytes) {
    if (sizes_agree(operation) && bytes < able_from_bytes(operation, ranks, min_message_bytes)) return native;
    return own_algorithm_of(operation);
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

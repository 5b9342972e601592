// SPDX-License-Identifier: Apache-2.0
#include "plan/planned_operation.hpp"

#include <algorithm>
#include <array>

namespace headway {
namespace {

constexpr PlannedOperation among_neighbours(std::string_view name) {
    return {.name = name,
            .as = PlannedAs::neighbours,
            .sizes_agree = false,
            .is_linear_only = true};
}

constexpr PlannedOperation rooted(std::string_view name, PlannedAs as, bool sizes_agree,
                                  std::optional<RingOperation> ring = {}) {
    return {.name = name,
            .as = as,
            .has_root = true,
            .sizes_agree = sizes_agree,
            .is_linear_only = true,
            .ring = ring};
}

constexpr std::array planned_operations{
    PlannedOperation{.name = "alltoall", .as = PlannedAs::alltoall},
    PlannedOperation{.name = "alltoallv", .as = PlannedAs::alltoall, .sizes_agree = false},
    PlannedOperation{.name = "alltoallw", .as = PlannedAs::alltoall, .sizes_agree = false},
    PlannedOperation{.name = "allgather", .as = PlannedAs::alltoall, .is_linear_only = true,
                     .ring = RingOperation::allgather},
    PlannedOperation{.name = "allgatherv", .as = PlannedAs::alltoall, .sizes_agree = false,
                     .is_linear_only = true, .ring = RingOperation::allgather},
    rooted("gather", PlannedAs::gather, true),
    rooted("gatherv", PlannedAs::gather, false),
    rooted("scatter", PlannedAs::scatter, true),
    rooted("scatterv", PlannedAs::scatter, false),
    rooted("bcast", PlannedAs::scatter, true, RingOperation::chain),
    rooted("reduce", PlannedAs::gather, true),
    PlannedOperation{.name = "allreduce", .as = PlannedAs::nothing},
    PlannedOperation{.name = "reduce_scatter", .as = PlannedAs::nothing, .sizes_agree = false},
    PlannedOperation{.name = "reduce_scatter_block", .as = PlannedAs::nothing},
    among_neighbours("neighbor_allgather"),
    among_neighbours("neighbor_allgatherv"),
    among_neighbours("neighbor_alltoall"),
    among_neighbours("neighbor_alltoallv"),
    among_neighbours("neighbor_alltoallw"),
};

}  // namespace

const PlannedOperation* find_operation(std::string_view name) {
    const auto* const found = std::ranges::find(planned_operations, name, &PlannedOperation::name);
    return found == planned_operations.end() ? nullptr : &*found;
}

std::string operation_names() {
    std::string names;
    for (const PlannedOperation& operation : planned_operations) {
        if (!names.empty()) names += ", ";
        names += operation.name;
    }
    return names;
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "daemon/planned_operation.hpp"

#include <algorithm>
#include <array>

namespace headway {
namespace {

constexpr bool linear = true;

constexpr std::array planned_operations{
    PlannedOperation{"alltoall", PlannedAs::alltoall},
    PlannedOperation{"alltoallv", PlannedAs::alltoall, false, false},
    PlannedOperation{"alltoallw", PlannedAs::alltoall, false, false},
    PlannedOperation{"allgather", PlannedAs::alltoall, false, true, linear, RingOperation::allgather},
    PlannedOperation{"allgatherv", PlannedAs::alltoall, false, false, linear, RingOperation::allgather},
    PlannedOperation{"gather", PlannedAs::gather, true, true, linear},
    PlannedOperation{"gatherv", PlannedAs::gather, true, false, linear},
    PlannedOperation{"scatter", PlannedAs::scatter, true, true, linear},
    PlannedOperation{"scatterv", PlannedAs::scatter, true, false, linear},
    PlannedOperation{"bcast", PlannedAs::scatter, true, true, linear, RingOperation::chain},
    PlannedOperation{"reduce", PlannedAs::gather, true, true, linear, RingOperation::chain},
    PlannedOperation{"allreduce", PlannedAs::nothing, false, true, false, RingOperation::allreduce},
    PlannedOperation{"reduce_scatter", PlannedAs::nothing, false, false, false,
                     RingOperation::reduce_scatter},
    PlannedOperation{"reduce_scatter_block", PlannedAs::nothing, false, true, false,
                     RingOperation::reduce_scatter},
    PlannedOperation{"neighbor_allgather", PlannedAs::neighbours, false, false, linear},
    PlannedOperation{"neighbor_allgatherv", PlannedAs::neighbours, false, false, linear},
    PlannedOperation{"neighbor_alltoall", PlannedAs::neighbours, false, false, linear},
    PlannedOperation{"neighbor_alltoallv", PlannedAs::neighbours, false, false, linear},
    PlannedOperation{"neighbor_alltoallw", PlannedAs::neighbours, false, false, linear},
};

}  // namespace

const PlannedOperation* find_operation(std::string_view name) {
    const auto* const found = std::find_if(planned_operations.begin(), planned_operations.end(),
                                           [&](const auto& known) { return known.name == name; });
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

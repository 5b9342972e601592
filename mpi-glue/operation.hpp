// SPDX-License-Identifier: MIT
// The collective operations that can be paced, and our algorithms for them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace headway::glue {

enum class Operation {
    alltoall,
    alltoallv,
    alltoallw,
    allgather,
    allgatherv,
    gather,
    gatherv,
    scatter,
    scatterv,
    bcast,
    reduce,
    allreduce,
    reduce_scatter,
    reduce_scatter_block,
    neighbor_allgather,
    neighbor_allgatherv,
    neighbor_alltoall,
    neighbor_alltoallv,
    neighbor_alltoallw,
};
inline constexpr std::size_t operation_count = 19;

/// As the control protocol spells it.
[[nodiscard]] const char* name_of(Operation operation);

inline constexpr int no_root = -1;

/// An operation as one call has it.
struct Collective {
    Operation operation = Operation::alltoall;
    int root = no_root;  ///< its rank in the communicator, or MPI_ROOT and the like
};

/// How an all-to-all is carried out; see exchange.hpp.
enum class Algorithm { native, linear, pairwise_xor, pairwise_ring, alltoall_a, alltoall_b, grid };

/// The helper itself can carry it out by any algorithm.
[[nodiscard]] constexpr bool has_own_algorithms(Operation operation) {
    return operation <= Operation::alltoallw;
}

/// As the control protocol spells it; what is not known is native.
[[nodiscard]] const char* name_of(Algorithm algorithm);
[[nodiscard]] Algorithm algorithm_named(std::string_view name);

}  // namespace headway::glue

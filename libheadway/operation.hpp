// SPDX-License-Identifier: MIT
// The collective operations that can be paced, and our algorithms for them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
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

/// Spelt as the control protocol has it.
[[nodiscard]] const char* name_of(Operation operation);
[[nodiscard]] std::optional<Operation> operation_named(std::string_view name);

/// Every rank sends to every other.
[[nodiscard]] constexpr bool is_total_exchange(Operation operation) {
    return operation <= Operation::alltoallw;
}

/// The root sends to every rank, or every rank to it.
[[nodiscard]] constexpr bool is_rooted_exchange(Operation operation) {
    return operation >= Operation::gather && operation <= Operation::scatterv;
}

/// There are rates for what carries it out: not for the algorithms of reductions, which only the MPI library has.
[[nodiscard]] constexpr bool is_planned(Operation operation) {
    return operation < Operation::reduce || operation > Operation::reduce_scatter_block;
}

/// The communicator's topology says who sends to whom.
[[nodiscard]] constexpr bool is_among_neighbours(Operation operation) {
    return operation >= Operation::neighbor_allgather;
}

inline constexpr int no_root = -1;

/// An operation as one call has it.
struct Collective {
    Operation operation = Operation::alltoall;
    int root = no_root;  ///< its rank in the communicator, or MPI_ROOT and the like
};

/// How a collective is carried out; see mpi-glue/exchange.hpp and mpi-glue/ring_exchange.hpp.
/// `unknown` is one that another version of headwayd names, and nobody's here.
enum class Algorithm { native, linear, ring, unknown };

/// The one of ours that the operation can be carried out by; none: native.
[[nodiscard]] Algorithm own_algorithm_of(Operation operation);

/// All ranks need the same data: a ring can carry it out.
[[nodiscard]] constexpr bool goes_round(Operation operation) {
    return operation == Operation::allgather || operation == Operation::allgatherv || operation == Operation::bcast;
}

/// Spelt as the control protocol has it.
[[nodiscard]] const char* name_of(Algorithm algorithm);
[[nodiscard]] Algorithm algorithm_named(std::string_view name);

/// All ranks come to the same message size.  Of a ring, that of its steps.
[[nodiscard]] constexpr bool sizes_agree(Operation operation) {
    return operation == Operation::alltoall || operation == Operation::gather ||
           operation == Operation::scatter || goes_round(operation);
}

}  // namespace headway::glue

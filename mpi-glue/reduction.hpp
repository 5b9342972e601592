// SPDX-License-Identifier: MIT
// What may be reduced in another order than the MPI library's.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace headway::glue {

/// Where the order of a reduction makes no difference to a single bit of its
/// result: MPI's own operations on whole numbers.
[[nodiscard]] bool is_exact(MPI_Op operation, MPI_Datatype type);

/// ... and on floating-point numbers, whose rounding depends on the order (and so on
/// the algorithm, which MPI libraries choose by size and number of ranks).
[[nodiscard]] bool is_arithmetic(MPI_Op operation, MPI_Datatype type);

/// The elements of a reduction: of a type that MPI defines, one next to the other.
struct Reduction {
    MPI_Datatype type;
    MPI_Op operation;
    std::size_t element_bytes;

    Reduction(MPI_Datatype its_type, MPI_Op its_operation);

    /// inout = in op inout, element by element; a status of MPI.
    [[nodiscard]] int combine(const void* in, void* inout, std::size_t elements) const;
};

}  // namespace headway::glue

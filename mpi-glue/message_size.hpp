// SPDX-License-Identifier: MIT
// How much one rank sends to another in a collective, in bytes.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace headway::glue {

/// Bytes per pair of MPI_Alltoall.  What is received from each rank is what is
/// sent to each, and the receive side also holds under MPI_IN_PLACE.  Arguments
/// that MPI will refuse give 0: that is for MPI to say.
[[nodiscard]] std::uint64_t message_bytes(int count, MPI_Datatype type);

/// Of MPI_Alltoallv: the most that this rank exchanges with any other.  The ranks
/// need not come to the same number, and do not talk about it.
[[nodiscard]] std::uint64_t message_bytes(MPI_Comm communicator, const int* counts,
                                          MPI_Datatype type);

}  // namespace headway::glue

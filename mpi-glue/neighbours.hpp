// SPDX-License-Identifier: MIT
// To whom a rank sends in the neighbour collectives of a communicator.
#pragma once

#include <mpi.h>

#include <vector>

namespace headway::glue {

/// In the order of the send buffer; MPI_PROC_NULL beyond the edge of a Cartesian
/// grid.  Empty without a topology.
[[nodiscard]] std::vector<int> destinations_of(MPI_Comm communicator);

/// Returns every rank's destinations, without any communication; ranks beyond an edge are left out.
/// It is empty without a topology, and for a distributed graph, of which a rank knows its own
/// neighbours only.
[[nodiscard]] std::vector<std::vector<int>> destinations_of_all(MPI_Comm communicator);

}  // namespace headway::glue

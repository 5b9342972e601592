// SPDX-License-Identifier: MIT
#include "message_size.hpp"

namespace headway::glue {

bool is_of_one_group(MPI_Comm communicator) {
    if (communicator == MPI_Comm{} || communicator == MPI_COMM_NULL) return false;
    int joins_two_groups = 0;
    return PMPI_Comm_test_inter(communicator, &joins_two_groups) == MPI_SUCCESS &&
           joins_two_groups == 0;
}

Place place_in(MPI_Comm communicator) {
    Place place;
    PMPI_Comm_rank(communicator, &place.rank);
    PMPI_Comm_size(communicator, &place.ranks);
    return place;
}

}  // namespace headway::glue

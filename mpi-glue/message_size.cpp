// SPDX-License-Identifier: MIT
#include "message_size.hpp"

#include <limits>

namespace headway::glue {

std::uint64_t message_bytes(MPI_Count count, MPI_Datatype type) {
    if (count <= 0 || type == MPI_Datatype{} || type == MPI_DATATYPE_NULL) return 0;
    MPI_Count type_bytes = 0;
    PMPI_Type_size_x(type, &type_bytes);
    if (type_bytes <= 0) return 0;
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(count),
                               static_cast<std::uint64_t>(type_bytes), &bytes))
        return std::numeric_limits<std::int64_t>::max();  // a number JSON readers can hold
    return bytes;
}

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

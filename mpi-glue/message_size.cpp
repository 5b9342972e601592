// SPDX-License-Identifier: MIT
#include "message_size.hpp"

#include <algorithm>
#include <limits>

namespace headway::glue {

std::uint64_t message_bytes(int count, MPI_Datatype type) {
    if (count <= 0 || type == nullptr || type == MPI_DATATYPE_NULL) return 0;
    MPI_Count type_bytes = 0;
    PMPI_Type_size_x(type, &type_bytes);
    if (type_bytes <= 0) return 0;
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(count),
                               static_cast<std::uint64_t>(type_bytes), &bytes))
        return std::numeric_limits<std::int64_t>::max();  // a number JSON readers can hold
    return bytes;
}

std::uint64_t message_bytes(MPI_Comm communicator, const int* counts, MPI_Datatype type) {
    if (counts == nullptr) return 0;
    int ranks = 0;
    int own = 0;
    PMPI_Comm_size(communicator, &ranks);
    PMPI_Comm_rank(communicator, &own);
    int largest = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        if (rank != own) largest = std::max(largest, counts[rank]);
    }
    return message_bytes(largest, type);
}

}  // namespace headway::glue

// SPDX-License-Identifier: MIT
// How many bytes a message has.  Arguments that MPI will refuse give 0: that is
// for MPI to say.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace headway::glue {

[[nodiscard, gnu::always_inline]] inline std::uint64_t message_bytes(MPI_Count count, MPI_Datatype type) {
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

/// The rank and size of a communicator; none of none.
struct Place {
    int rank = 0;
    int ranks = 0;
};
[[nodiscard]] Place place_in(MPI_Comm communicator);

/// False, too, of no communicator, or one that has been freed.
[[nodiscard]] bool is_of_one_group(MPI_Comm communicator);

/// The largest message to or from any other rank.
[[nodiscard]] inline std::uint64_t largest_message(MPI_Comm communicator, const int* counts,
                                                   MPI_Datatype type) {
    if (counts == nullptr) return 0;
    const Place own = place_in(communicator);
    int largest = 0;
    for (int rank = 0; rank < own.ranks; ++rank) {
        if (rank != own.rank) largest = std::max(largest, counts[rank]);
    }
    return message_bytes(largest, type);
}

/// The largest of all ranks' blocks, where each goes to all others.
[[nodiscard]] inline std::uint64_t largest_block(MPI_Comm communicator, const int* counts, MPI_Datatype type) {
    const int ranks = place_in(communicator).ranks;
    return counts != nullptr && ranks > 0 ? message_bytes(*std::max_element(counts, counts + ranks), type) : 0;
}

/// Returns the size of the largest message where every message has a type of its own.
[[nodiscard]] inline std::uint64_t largest_message(MPI_Comm communicator, const int* counts,
                                                   const MPI_Datatype* types) {
    if (counts == nullptr || types == nullptr) return 0;
    const Place own = place_in(communicator);
    std::uint64_t largest = 0;
    for (int rank = 0; rank < own.ranks; ++rank) {
        if (rank != own.rank) largest = std::max(largest, message_bytes(counts[rank], types[rank]));
    }
    return largest;
}

}  // namespace headway::glue

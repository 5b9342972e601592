// SPDX-License-Identifier: MIT
// How many bytes a message has.  Arguments that MPI will refuse give 0: that is
// for MPI to say.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>

namespace headway::glue {

[[nodiscard]] std::uint64_t message_bytes(MPI_Count count, MPI_Datatype type);

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

/// The same where every message has a type of its own.
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

// SPDX-License-Identifier: MIT
// A message's data without its datatype.  Between like machines packed data are as
// many bytes as the type has, and the same for all.
//
// MPI counts what it packs in an int: more than INT_MAX bytes it refuses.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstddef>

#include "messages.hpp"

namespace headway::glue {

[[nodiscard]] inline int int_of(std::size_t bytes) {
    return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX));
}

[[nodiscard]] std::size_t bytes_of(const Block& block);

/// Its elements lie in memory as MPI_Pack would put them.
[[nodiscard]] bool is_packed_already(MPI_Datatype type);

/// To `packed`, which has room for as many bytes as the data are; a status of MPI.
[[nodiscard]] int pack(const Block& from, char* packed, std::size_t bytes, MPI_Comm communicator);

[[nodiscard]] inline int unpack(const char* packed, std::size_t bytes, const Block& to,
                                MPI_Comm communicator) {
    int used = 0;
    return PMPI_Unpack(packed, int_of(bytes), &used, to.room(), to.count, to.type, communicator);
}

}  // namespace headway::glue

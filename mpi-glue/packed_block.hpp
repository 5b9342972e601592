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
#include <vector>

#include "messages.hpp"

namespace headway::glue {

[[nodiscard]] inline int int_of(std::size_t bytes) {
    return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX));
}

/// `packed` is as long as the data are; a status of MPI.
[[nodiscard]] inline int pack(const Block& from, std::vector<char>& packed, MPI_Comm communicator) {
    int used = 0;
    const int status = PMPI_Pack(from.data, from.count, from.type, packed.data(),
                                 int_of(packed.size()), &used, communicator);
    if (status != MPI_SUCCESS) return status;
    return static_cast<std::size_t>(used) == packed.size() ? MPI_SUCCESS : MPI_ERR_OTHER;
}

[[nodiscard]] inline int unpack(const char* packed, std::size_t bytes, const Block& to,
                                MPI_Comm communicator) {
    int used = 0;
    return PMPI_Unpack(packed, int_of(bytes), &used, to.room(), to.count, to.type, communicator);
}

[[nodiscard]] inline int unpack(const std::vector<char>& packed, const Block& to,
                                MPI_Comm communicator) {
    return unpack(packed.data(), packed.size(), to, communicator);
}

}  // namespace headway::glue

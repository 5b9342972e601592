// SPDX-License-Identifier: MIT
#include "packed_block.hpp"

#include "exchange.hpp"
#include "message_size.hpp"

namespace headway::glue {

std::size_t bytes_of(const Block& block) {
    return static_cast<std::size_t>(message_bytes(block.count, block.type));
}

bool is_packed_already(MPI_Datatype type) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = 0;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED &&
           detail::extent_of(type) == static_cast<MPI_Aint>(message_bytes(1, type));
}

int pack(const Block& from, char* packed, std::size_t bytes, MPI_Comm communicator) {
    int used = 0;
    const int status = PMPI_Pack(from.data, from.count, from.type, packed, int_of(bytes), &used,
                                 communicator);
    if (status != MPI_SUCCESS) return status;
    return static_cast<std::size_t>(used) == bytes ? MPI_SUCCESS : MPI_ERR_OTHER;
}

}  // namespace headway::glue

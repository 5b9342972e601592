// SPDX-License-Identifier: MIT
// The blocks of a collective's buffers as messages: one block, or one for each rank.
//
// Nothing here allocates, and nothing looks at the type of an empty block: it may be none at all.
#pragma once

#include <mpi.h>

#include "message_size.hpp"

namespace headway::glue {

/// One side of a message.
struct Block {
    const void* data = nullptr;
    int count = 0;
    MPI_Datatype type = MPI_BYTE;

    [[nodiscard]] void* room() const { return const_cast<void*>(data); }
};

[[nodiscard]] inline std::uint64_t bytes_of(const Block& block) { return message_bytes(block.count, block.type); }
[[nodiscard]] inline bool is_empty(const Block& block) { return bytes_of(block) == 0; }

[[nodiscard]] inline MPI_Aint extent_of(MPI_Datatype type) {
    MPI_Aint lower_bound = 0, extent = 0;
    PMPI_Type_get_extent(type, &lower_bound, &extent);
    return extent;
}

/// Its elements lie in memory one behind the other, each in as many bytes as it has.
[[nodiscard]] inline bool is_contiguous(MPI_Datatype type) {
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED && extent_of(type) == static_cast<MPI_Aint>(message_bytes(1, type));
}

/// One block of a buffer for each rank; refers to the program's lists.
class Blocks {
public:
    /// Empty ones, of a rank whose own arguments cannot be used.
    Blocks() = default;
    /// The blocks have as many elements for each rank, in the order of ranks.
    Blocks(const void* start, int count, MPI_Datatype type) : start_(start), count_(count), type_(type) {}
    /// The program's lists give the blocks' counts, and their displacements in elements.
    Blocks(const void* start, const int* counts, const int* displs, MPI_Datatype type)
        : start_(start), counts_(counts), displs_(displs), type_(type) {}
    /// The program's lists give a type for each rank, too, and displacements in bytes.
    Blocks(const void* start, const int* counts, const int* displs, const MPI_Datatype* types)
        : start_(start), counts_(counts), displs_(displs), types_(types) {}

    [[nodiscard]] Block of(int rank) const {
        const int count = counts_ != nullptr ? counts_[rank] : count_;
        if (count == 0) return {};
        const MPI_Datatype type = types_ != nullptr ? types_[rank] : type_;
        return {static_cast<const char*>(start_) + offset_of(rank), count, type};
    }

    /// Where the rank's block would begin if the elements of its type had no gaps.
    [[nodiscard]] const void* packed(int rank) const {
        const MPI_Aint elements = displs_ != nullptr ? MPI_Aint{displs_[rank]} : MPI_Aint{rank} * count_;
        return static_cast<const char*>(start_) + elements * static_cast<MPI_Aint>(message_bytes(1, type_));
    }

private:
    [[nodiscard]] MPI_Aint offset_of(int rank) const {
        if (types_ != nullptr) return displs_[rank];
        const MPI_Aint elements = displs_ != nullptr ? MPI_Aint{displs_[rank]} : MPI_Aint{rank} * count_;
        return elements * extent_of(type_);
    }

    const void* start_ = nullptr;
    int count_ = 0;
    const int* counts_ = nullptr;
    const int* displs_ = nullptr;
    MPI_Datatype type_ = MPI_BYTE;
    const MPI_Datatype* types_ = nullptr;
};

}  // namespace headway::glue

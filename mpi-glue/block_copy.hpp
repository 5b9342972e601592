// SPDX-License-Identifier: MIT
// A copy of a block, of the same type, in memory of our own.  MPI makes it, by a
// message of this process to itself: so any type, any number of bytes and any memory
// that MPI can send from will do.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "message_size.hpp"
#include "messages.hpp"

namespace headway::glue {

[[nodiscard]] inline bool is_empty(const Block& block) {
    return message_bytes(block.count, block.type) == 0;
}

class BlockCopy {
public:
    /// Memory for it, and nothing in it yet; may throw std::bad_alloc.
    explicit BlockCopy(const Block& like) : block_(like) {
        if (is_empty(like)) return;
        MPI_Aint lower_bound = 0;
        MPI_Aint extent = 0;
        MPI_Aint first_byte = 0;
        MPI_Aint bytes = 0;
        PMPI_Type_get_extent(like.type, &lower_bound, &extent);
        PMPI_Type_get_true_extent(like.type, &first_byte, &bytes);
        // extents may be negative
        const MPI_Aint last_element = (like.count - 1) * extent;
        const MPI_Aint start = first_byte + std::min<MPI_Aint>(0, last_element);
        const MPI_Aint end = first_byte + bytes + std::max<MPI_Aint>(0, last_element);
        memory_.resize(static_cast<std::size_t>(end - start));
        block_.data = memory_.data() - start;
    }

    void fill(const Block& from, int own_rank, Messages& messages) {
        transfer(from, block_, own_rank, messages);
    }
    void copy_to(const Block& to, int own_rank, Messages& messages) const {
        transfer(block_, to, own_rank, messages);
    }

    [[nodiscard]] const Block& block() const { return block_; }

private:
    static void transfer(const Block& from, const Block& to, int own_rank, Messages& messages) {
        if (is_empty(from)) return;
        messages.receive(to, own_rank, MessageKind::bytes);
        messages.send(from, own_rank, MessageKind::bytes);
    }

    Block block_;
    std::vector<char> memory_;
};

}  // namespace headway::glue

// SPDX-License-Identifier: MIT
// Several blocks of one buffer as one message: where they do not lie side by side,
// by a datatype that is freed with the run.
#pragma once

#include <mpi.h>

#include <climits>
#include <utility>
#include <vector>

#include "block_copy.hpp"

namespace headway::glue {

class BlockRun {
public:
    explicit BlockRun(const std::vector<Block>& blocks) {
        const std::vector<Block> pieces = joined(blocks);
        if (pieces.size() < 2) {
            if (!pieces.empty()) block_ = pieces.front();
            return;
        }
        std::vector<int> counts;
        std::vector<MPI_Aint> offsets;
        std::vector<MPI_Datatype> types;
        for (const Block& piece : pieces) {
            counts.push_back(piece.count);
            offsets.push_back(address(piece) - address(pieces.front()));
            types.push_back(piece.type);
        }
        status_ = PMPI_Type_create_struct(static_cast<int>(pieces.size()), counts.data(),
                                          offsets.data(), types.data(), &own_type_);
        if (status_ == MPI_SUCCESS) status_ = PMPI_Type_commit(&own_type_);
        block_ = {pieces.front().data, 1, own_type_};
    }
    BlockRun(BlockRun&& other) noexcept
        : block_(other.block_),
          own_type_(std::exchange(other.own_type_, MPI_DATATYPE_NULL)),
          status_(other.status_) {}
    BlockRun& operator=(BlockRun&&) = delete;
    ~BlockRun() {
        if (own_type_ != MPI_DATATYPE_NULL) PMPI_Type_free(&own_type_);
    }

    [[nodiscard]] const Block& block() const { return block_; }
    /// Of MPI; an error, if it made no datatype.
    [[nodiscard]] int status() const { return status_; }

private:
    static MPI_Aint address(const Block& block) {
        return reinterpret_cast<MPI_Aint>(block.data);
    }

    /// Those that are not empty, with neighbours in memory as one.
    static std::vector<Block> joined(const std::vector<Block>& blocks) {
        std::vector<Block> pieces;
        for (const Block& block : blocks) {
            if (is_empty(block)) continue;
            if (!pieces.empty() && continues(pieces.back(), block)) {
                pieces.back().count += block.count;
            } else {
                pieces.push_back(block);
            }
        }
        return pieces;
    }

    static bool continues(const Block& before, const Block& block) {
        MPI_Aint lower_bound = 0;
        MPI_Aint extent = 0;
        if (before.type != block.type || before.count > INT_MAX - block.count) return false;
        PMPI_Type_get_extent(block.type, &lower_bound, &extent);
        return address(block) - address(before) == before.count * extent;
    }

    Block block_;
    MPI_Datatype own_type_ = MPI_DATATYPE_NULL;
    int status_ = MPI_SUCCESS;
};

}  // namespace headway::glue

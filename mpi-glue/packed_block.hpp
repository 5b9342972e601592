// SPDX-License-Identifier: MIT
// A block's data as bytes, one behind the other: where they lie so already, or in a copy of our own that MPI makes by
// messages of this rank to itself.  (MPI_Pack refuses what begins at MPI_BOTTOM, in MPICH.)  Between like machines they
// are the same bytes at all ranks.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "messages.hpp"

namespace headway::glue {

class PackedBlock {
public:
    PackedBlock() = default;
    /// `is_overwritten`: a copy is needed in any case.  Without memory for one nothing is left but the size.
    PackedBlock(const Block& block, bool is_overwritten) noexcept;

    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    /// Null: there are none, or there is no memory.
    [[nodiscard]] char* data() { return is_copied_ ? copy_.data() : static_cast<char*>(block_.room()); }
    [[nodiscard]] const char* data() const { return is_copied_ ? copy_.data() : static_cast<const char*>(block_.data); }
    [[nodiscard]] bool has_memory() const { return has_memory_; }

    /// The program's data into the copy, or the copy's to the program.
    void read(Messages& messages) { transfer(messages, true); }
    void write(Messages& messages) { transfer(messages, false); }

    /// `bytes` of them from `first` on, as a message; empty where there is no memory.
    [[nodiscard]] Block part(std::size_t first, std::size_t bytes);

private:
    void transfer(Messages& messages, bool reads);

    Block block_;
    std::size_t bytes_ = 0;
    bool is_copied_ = false;
    bool has_memory_ = true;
    std::vector<char> copy_;
};

}  // namespace headway::glue

// SPDX-License-Identifier: MIT
// A message's data without its datatype.  MPI_PACKED may be received as any type.
#pragma once

#include <mpi.h>

#include <vector>

#include "exchange.hpp"

namespace headway::glue {

class PackedBlock {
public:
    PackedBlock() = default;
    PackedBlock(const Block& source, MPI_Comm communicator) {
        if (source.count <= 0) return;
        int most = 0;
        PMPI_Pack_size(source.count, source.type, communicator, &most);
        bytes_.resize(static_cast<std::size_t>(most));
        int used = 0;
        PMPI_Pack(source.data, source.count, source.type, bytes_.data(), most, &used, communicator);
        bytes_.resize(static_cast<std::size_t>(used));
    }

    [[nodiscard]] const std::vector<char>& bytes() const { return bytes_; }
    [[nodiscard]] char* data() { return bytes_.data(); }
    [[nodiscard]] Block block() const {
        return {bytes_.data(), static_cast<int>(bytes_.size()), MPI_PACKED};
    }

private:
    std::vector<char> bytes_;
};

}  // namespace headway::glue

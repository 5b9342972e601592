// SPDX-License-Identifier: MIT
#include "packed_block.hpp"

#include <algorithm>
#include <climits>
#include <exception>

namespace headway::glue {

PackedBlock::PackedBlock(const Block& block, bool is_overwritten) noexcept : block_(block), bytes_(bytes_of(block)) {
    if (bytes_ == 0 || (!is_overwritten && is_contiguous(block.type))) return;
    is_copied_ = true;
    try {
        copy_.resize(bytes_);
    } catch (const std::exception&) {
        has_memory_ = false;
    }
}

Block PackedBlock::part(std::size_t first, std::size_t bytes) {
    if (bytes == 0 || !has_memory_) return {};
    return {data() + first, static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)), MPI_BYTE};
}

/// Element by element, as many at a time as MPI counts bytes in an int.
void PackedBlock::transfer(Messages& messages, bool reads) {
    if (!is_copied_ || !has_memory_) return;
    const std::size_t element_bytes = bytes_ / static_cast<std::size_t>(block_.count);
    const std::size_t most = INT_MAX / element_bytes;
    if (most == 0) return messages.note(MPI_ERR_COUNT);
    const MPI_Aint extent = extent_of(block_.type);
    const auto count = static_cast<std::size_t>(block_.count);
    for (std::size_t at = 0; at < count; at += most) {
        const std::size_t elements = std::min(most, count - at);
        const Block typed{static_cast<const char*>(block_.data) + static_cast<MPI_Aint>(at) * extent,
                          static_cast<int>(elements), block_.type};
        const Block bytes = part(at * element_bytes, elements * element_bytes);
        reads ? messages.copy(typed, bytes) : messages.copy(bytes, typed);
        messages.wait_for_all();
    }
}

}  // namespace headway::glue

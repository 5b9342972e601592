// SPDX-License-Identifier: MIT
// An operand of a reduction where this processor can touch it.  If it is in the
// memory of a device, MPI copies it from and to there, by messages of this process to
// itself: so each rank decides for itself, and the ranks' messages are the same.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "device_memory.hpp"
#include "messages.hpp"
#include "reduction.hpp"

namespace headway::glue {

class HostOperand {
public:
    /// Memory for it, if it needs any; may throw std::bad_alloc.
    HostOperand(const void* program, std::size_t elements, const Reduction& reduction)
        : program_(static_cast<char*>(const_cast<void*>(program))),
          elements_(elements),
          reduction_(reduction),
          is_copied_(program != MPI_IN_PLACE && is_device_memory(program)),
          copy_(is_copied_ ? elements * reduction.element_bytes : 0) {}

    [[nodiscard]] void* data() { return is_copied_ ? copy_.data() : program_; }

    void read(int own_rank, Messages& messages) {
        if (is_copied_) transfer(program_, copy_.data(), own_rank, messages);
    }
    void write(int own_rank, Messages& messages) {
        if (is_copied_) transfer(copy_.data(), program_, own_rank, messages);
    }

private:
    void transfer(char* from, char* to, int own_rank, Messages& messages) const {
        constexpr std::size_t most = std::size_t{1} << 24;  // counts are ints
        for (std::size_t at = 0; at < elements_; at += most) {
            const int count = static_cast<int>(std::min(most, elements_ - at));
            const std::size_t offset = at * reduction_.element_bytes;
            messages.receive({to + offset, count, reduction_.type}, own_rank, MessageKind::bytes);
            messages.send({from + offset, count, reduction_.type}, own_rank, MessageKind::bytes);
        }
        messages.wait_for_all();
    }

    char* program_;
    std::size_t elements_;
    Reduction reduction_;
    bool is_copied_;
    std::vector<char> copy_;
};

/// Calls `reduce` with what is to be reduced, or MPI_IN_PLACE, and where the result
/// goes to; a status of MPI.
[[nodiscard]] int on_host(HostOperand given, HostOperand result, int own_rank, const OwnCall& call,
                          const auto& reduce) {
    Messages messages(call);
    if (given.data() == MPI_IN_PLACE) {
        result.read(own_rank, messages);
    } else {
        given.read(own_rank, messages);
    }
    messages.note(reduce(given.data(), result.data()));
    result.write(own_rank, messages);
    return messages.wait_for_all();
}

}  // namespace headway::glue

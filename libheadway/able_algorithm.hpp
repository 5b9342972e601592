// SPDX-License-Identifier: MIT
// By which of its own algorithms the MPI helper may carry a call out, by what all ranks know
// of it: they must come to the same without talking.  Whether it does the plan says
// (mpi-glue/own_algorithms.hpp, and userspace/cli/called_plan.hpp for `headway plan`).
#pragma once

#include <algorithm>
#include <cstdint>

#include "operation.hpp"
#include "size_limits.hpp"

namespace headway::glue {

/// An alltoall where smaller messages are paced, because ports hold few of them: the library's
/// algorithm has all hosts of a cluster begin with the same host of another one
/// (mpi-glue/exchange_order.hpp).  0: no daemon has told from which size on it paces.
[[nodiscard]] constexpr std::uint64_t own_alltoall_from_bytes(std::uint64_t min_message_bytes) {
    if (min_message_bytes == 0) return own_from_bytes;
    return std::clamp(min_message_bytes, own_alltoall_least_bytes, own_from_bytes);
}

/// Fewer bytes are not paced, and few ranks have few messages.
inline constexpr std::uint64_t small_blocks_from_bytes = 256;
inline constexpr std::uint64_t small_blocks_from_ranks = 4;

/// Blocks of an alltoall that are too small to be paced one by one, of which nodes with many ranks exchange many: `ranks`,
/// the most on any host.  They go straight like larger ones, and are planned as one message of all blocks between each
/// two nodes.
[[nodiscard]] constexpr bool are_many_small_blocks(Operation operation, std::uint64_t bytes, std::uint64_t ranks) {
    return operation == Operation::alltoall && bytes >= small_blocks_from_bytes && bytes < own_from_bytes &&
           ranks >= small_blocks_from_ranks;
}
[[nodiscard]] constexpr std::uint64_t bytes_between_hosts(std::uint64_t bytes, std::uint64_t ranks) {
    return bytes * ranks * ranks;
}

/// From which size on an algorithm of ours may carry a call out; `ranks`: as above; `min_message_bytes`: smaller messages are
/// not paced.
[[nodiscard]] constexpr std::uint64_t able_from_bytes(Operation operation, std::uint64_t ranks, std::uint64_t min_message_bytes) {
    if (operation != Operation::alltoall) return own_from_bytes;
    const std::uint64_t from_bytes = own_alltoall_from_bytes(min_message_bytes);
    return ranks >= small_blocks_from_ranks ? std::min(from_bytes, small_blocks_from_bytes) : from_bytes;
}

/// Native: it is the MPI library's, whatever is planned.
[[nodiscard]] Algorithm able_algorithm(Operation operation, std::uint64_t bytes, std::uint64_t ranks,
                                       std::uint64_t min_message_bytes);

}  // namespace headway::glue

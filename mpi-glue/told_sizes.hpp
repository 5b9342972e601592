// SPDX-License-Identifier: MIT
// Of an MPI_Alltoallv or MPI_Alltoallw whose messages are of very different sizes: who sends how much to whom.  Each rank
// knows what it sends and receives itself.  That is enough for messages of about the same size, for which headwayd has a
// plan.  Of others it is asked for a plan of this very call (the training of a mixture of experts has such: a popular
// expert gets several times as much as another one), for which the ranks tell each other their sizes first.
//
// Telling takes the time of one small message between the ranks that are the farthest apart.  So the ranks do it only
// where they have agreed that sizes differ (own_algorithms.hpp).
#pragma once

#include <mpi.h>

#include <cstdint>

#include "exchange.hpp"
#include "size_limits.hpp"
#include "told_traffic.hpp"

namespace headway::glue {

/// Says whether a rank's messages differ in size: some message is much larger than the mean.
[[nodiscard]] bool are_uneven(const Exchange& exchange, const OwnCall& call) noexcept;

/// Nothing of what this rank sends or receives has to be copied to be bytes one behind the other.
[[nodiscard]] bool are_contiguous(const Exchange& exchange, const OwnCall& call) noexcept;

/// Fills in the same table at all ranks, each of which knows the smallest buffer of a port, or says 0; a status of MPI.
[[nodiscard]] int tell_sizes(const Exchange& exchange, std::uint64_t port_buffer_bytes, const OwnCall& call,
                             SizeTable& sizes) noexcept;

}  // namespace headway::glue

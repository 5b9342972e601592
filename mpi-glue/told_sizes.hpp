// SPDX-License-Identifier: MIT
// Of an MPI_Alltoallv or MPI_Alltoallw whose messages are of very different sizes: who sends how
// much to whom.  Each rank knows what it sends and receives itself.  That is enough for messages
// of about the same size, for which headwayd has a plan.  Of others it is asked for a plan of this
// very call (the training of a mixture of experts has such: a popular expert gets several times
// as much as another one), for which the ranks tell each other their sizes first.
//
// Telling takes the time of one small message between the ranks that are the farthest apart.  So
// the ranks do it only where they have agreed that sizes differ (own_algorithms.hpp).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "exchange.hpp"
#include "size_limits.hpp"
#include "told_traffic.hpp"

namespace headway::glue {

/// So many ranks on so many hosts tell each other, and no more: each gets a small message from
/// every other at once, which a port's buffer has to hold, and headwayd plans for each call anew.
inline constexpr int telling_ranks_max = 64;
inline constexpr std::size_t telling_hosts_max = 32;

/// What one rank sends and receives differs: some message is much larger than the mean.
[[nodiscard]] bool are_uneven(const Exchange& exchange, MPI_Comm communicator);

/// The same at all ranks, each of which knows the smallest buffer of a port, or says 0.  No sizes:
/// an error has come between.  Collective over the call's communicator.
[[nodiscard]] ToldSizes tell_sizes(const Exchange& exchange, std::uint64_t port_buffer_bytes,
                                   const OwnCall& call);

}  // namespace headway::glue

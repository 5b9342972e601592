// SPDX-License-Identifier: MIT
// Our own algorithms for operations in which all ranks need the same data, or
// all ranks' data makes one result, for when the plan names them: around a ring of
// hosts, one rank of each of which passes on what is the whole host's (host_ring.hpp).
// Trees and exchanges at a distance, which the libraries prefer for most sizes, send
// over a trunk from many hosts at once.
//
// Of H hosts:
//   allgather        Leaders collect their hosts' blocks.  H-1 steps: each passes on the
//                    blocks of the host that it got last, also to the ranks of its own.
//   reduce_scatter   Hosts' ranks reduce to their leaders.  H-1 steps: each adds its
//                    host's part to what it got last.  Leaders hand out the result.
//   allreduce        The same, in blocks of an H-th, and then as an allgather.
//   bcast, reduce    A tree from or to the root, in segments, so that all links of it
//                    are busy at once: a chain of leaders, and trees within hosts.
//
// All are for at least two hosts.  They talk over a communicator that is theirs
// alone; a status is one of MPI; memory may be short (std::bad_alloc), but never
// once the first message has been posted.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "exchange.hpp"
#include "host_ring.hpp"
#include "reduction.hpp"

namespace headway::glue {

/// Every rank gets each rank's block, `of` it; `own`: this one's, if it is not in its
/// place yet.
[[nodiscard]] int ring_allgather(const HostRing& ring, const OwnCall& call, const Block* own,
                                 const Exchange::BlockOf& of);

/// `data`: `elements` of this rank, and in the end everybody's.
[[nodiscard]] int ring_allreduce(const HostRing& ring, const OwnCall& call,
                                 const Reduction& reduction, void* data, std::size_t elements);

/// Which elements of the result are each rank's: the ranks' one after the other.
struct ReducedBlocks {
    std::vector<std::size_t> first;  ///< by rank, and the end

    [[nodiscard]] std::size_t of(int rank) const {
        const auto at = static_cast<std::size_t>(rank);
        return first[at + 1] - first[at];
    }
};

/// `data`: this rank's elements for all, left as they are; `result` has room for
/// this rank's block, and may be the start of `data`.
[[nodiscard]] int ring_reduce_scatter(const HostRing& ring, const OwnCall& call,
                                      const Reduction& reduction, const void* data,
                                      const ReducedBlocks& blocks, void* result);

/// The root's `block`; the ranks' have as many bytes each, whatever their types.
[[nodiscard]] int ring_bcast(const HostRing& ring, const OwnCall& call, int root,
                             const Block& block);

/// `data`: this rank's; at the root what it has to give, then the result.  The
/// others' stays as it is.
[[nodiscard]] int ring_reduce(const HostRing& ring, const OwnCall& call, int root,
                              const Reduction& reduction, void* data, std::size_t elements);

}  // namespace headway::glue

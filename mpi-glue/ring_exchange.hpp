// SPDX-License-Identifier: MIT
// Our own algorithms for operations in which all ranks need the same data, or
// all ranks' data makes one result, for when the plan names them: around a ring.
//
// The ring goes through one cluster and one host after the other (host_table.hpp),
// so that each direction of each link carries one stream and no two hosts
// ever meet in front of a link.  Trees and exchanges at a distance, which the
// libraries prefer for most sizes, send over a trunk from many hosts at once.
//
//   allgather        P-1 steps; each passes on the block that it got last
//   reduce_scatter   P-1 steps; each adds its own part to the block that it got last
//   allreduce        both, in blocks of a P-th
//   bcast, reduce    a chain from or to the root, in segments, so that all links of
//                    the chain are busy at once
//
// All are for P ranks, at least two.  They talk over a communicator that is theirs
// alone; a status is one of MPI; memory may be short (std::bad_alloc), but never
// once the first message has been posted.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "exchange.hpp"
#include "reduction.hpp"

namespace headway::glue {

/// The ranks of a communicator in the ring's order, and this rank's place in it.
class Ring {
public:
    Ring(const std::vector<int>& order, int own_rank);

    [[nodiscard]] int ranks() const { return static_cast<int>(order_->size()); }
    [[nodiscard]] int own_rank() const { return at(own_place_); }
    /// The rank `steps` further (before it, if negative) than this one.
    [[nodiscard]] int from_here(int steps) const { return at(place_from_here(steps)); }
    [[nodiscard]] int place_from_here(int steps) const;
    /// How many steps this rank is behind `rank`: 0 .. ranks() - 1.
    [[nodiscard]] int steps_behind(int rank) const;

private:
    [[nodiscard]] int at(int place) const { return (*order_)[static_cast<std::size_t>(place)]; }

    const std::vector<int>* order_;
    int own_place_;
};

/// Every rank gets each rank's block; this one's will be in its place when
/// `messages` are complete.
[[nodiscard]] int ring_allgather(const Ring& ring, Messages& messages,
                                 const Exchange::BlockOf& of);

/// `data`: `elements` of this rank, and in the end everybody's.
[[nodiscard]] int ring_allreduce(const Ring& ring, const OwnCall& call, const Reduction& reduction,
                                 void* data, std::size_t elements);

/// Which elements of the result are each rank's: the ranks' one after the other.
struct ReducedBlocks {
    std::vector<std::size_t> first;  ///< by rank, and the end

    [[nodiscard]] std::size_t of(int rank) const {
        const auto at = static_cast<std::size_t>(rank);
        return first[at + 1] - first[at];
    }
    [[nodiscard]] std::size_t largest() const;
};

/// `data`: this rank's elements for all, left as they are; `result` has room for
/// this rank's block, and may be the start of `data`.
[[nodiscard]] int ring_reduce_scatter(const Ring& ring, const OwnCall& call, const Reduction& reduction,
                                      const void* data, const ReducedBlocks& blocks, void* result);

/// The root's `block`; the ranks' have as many bytes each, whatever their types.
[[nodiscard]] int chain_bcast(const Ring& ring, const OwnCall& call, int root, const Block& block);

/// `data`: this rank's; at the root what it has to give, then the result.  The
/// others' stays as it is.
[[nodiscard]] int chain_reduce(const Ring& ring, const OwnCall& call, int root,
                               const Reduction& reduction, void* data, std::size_t elements);

}  // namespace headway::glue

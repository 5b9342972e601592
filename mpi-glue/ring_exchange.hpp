// SPDX-License-Identifier: MIT
// Our own algorithms for MPI_Bcast, MPI_Allgather and MPI_Allgatherv, for when the plan names a ring: data go around the
// hosts (host_ring.hpp), so that no two hosts send to the same one and a link between switches carries each byte once.
//
//   Bcast        the root says first how long its data are and how they go: what is long in segments along the ring,
//                each of which goes on as soon as it has come; what is short along a tree.  So how much room the other
//                ranks have changes nothing but what they return.
//   Allgather    each host's blocks go to the leader, from leader to leader, and from each of these to its host.
//
// What comes shorter than a rank expects goes on empty, so that every rank behind it knows: it returns MPI_ERR_OTHER.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "argument_check.hpp"
#include "host_ring.hpp"
#include "messages.hpp"

namespace headway::glue {

/// The arguments of an allgather.
struct Gathering {
    bool in_place = false;
    Block own{};
    Blocks all{};
    bool is_absent = false;  ///< this rank's arguments cannot be used
};

/// The arguments of a broadcast.
struct Broadcast {
    Block block{};
    int root = 0;
    bool is_absent = false;
};

/// Statuses of MPI.  `missing`: of each rank, whether its block did not come; for the call's own use.
[[nodiscard]] int ring_allgather(const HostRing& ring, const OwnCall& call, const Gathering& gathering,
                                 bool* missing) noexcept;
/// A broadcast of less than `long_from_bytes` at the root goes along a tree.
[[nodiscard]] int ring_bcast(const HostRing& ring, const OwnCall& call, const Broadcast& broadcast,
                             std::uint64_t long_from_bytes) noexcept;

}  // namespace headway::glue

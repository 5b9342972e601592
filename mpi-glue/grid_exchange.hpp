// SPDX-License-Identifier: MIT
// An all-to-all for clusters joined by a slow trunk, after Steffenel's two-phase
// algorithm: first everything within the clusters, where what is for a rank of
// another cluster is collected at the member that will send it; then one message
// for each pair of partners across the trunk.  Between clusters of a and b ranks
// that makes max(a, b) messages each way instead of a times b.
//
// Here for any number of clusters: each pair of clusters is treated so.  Who
// collects is a function of the clusters' sizes, so nobody has to be told.
#pragma once

#include <mpi.h>

#include "exchange.hpp"
#include "message_size.hpp"

namespace headway::glue {

/// A status of MPI.
[[nodiscard]] int grid_exchange(const Exchange& exchange, Place place, const OwnCall& call,
                                const Clusters& clusters);

}  // namespace headway::glue

// SPDX-License-Identifier: MIT
// An MPI_Alltoall of small blocks between nodes with several ranks: one message for each
// pair of nodes instead of one for each pair of ranks, after the two phases of Steffenel
// et al. (their clusters are nodes here).  What the field calls node-aware.
//
// On each node a rank stands for some of the other nodes: its l-th rank for those whose
// place is l modulo the number of its ranks.  Three exchanges:
//
//   1. within the node: each rank hands its blocks for a node to the one that stands for it
//   2. between the nodes: the two that stand for each other's node exchange all blocks of
//      that pair, one message each way
//   3. within the node: each rank gets what has come for it
//
// A rank has 2 k messages within a node of k ranks and about N / k to N other nodes, where
// the direct exchange has k N.  Every block is copied four times, so this is for small
// ones (able_algorithm.hpp).  Blocks have the same number of bytes at all ranks, whatever their types.
#pragma once

#include "exchange.hpp"

namespace headway::glue {

/// A status of MPI.  Memory may be short (std::bad_alloc).
[[nodiscard]] int exchange_by_nodes(const Exchange& exchange, const ExchangeOrder& order,
                                    const OwnCall& call);

}  // namespace headway::glue

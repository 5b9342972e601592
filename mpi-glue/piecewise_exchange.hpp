// SPDX-License-Identifier: MIT
// The linear algorithm where all ranks know all sizes (told_sizes.hpp): messages go in pieces
// (piece_schedule.hpp) at such moments that all progress in proportion to their sizes until they end
// together, as they are planned.  Two things would go wrong with whole messages:
//
//   The kernel sends to the destinations in turn, a frame each.  Small messages would be over
//   early, and what all hosts have left for the same receiver would come at their whole rates,
//   more than the receiver's link carries.
//
//   Of a message above its eager limit an MPI library sends a part, and the rest when the
//   receiver has asked for it.  What asks goes behind the receiver's own data to the sender, in
//   the same TCP stream.  Where it has little to send, at a rate that makes that last as long as
//   the whole call, it asks at the end.  Pieces are below the eager limit of both libraries.
//
// Pieces are bytes, because the types of both ends need not have elements of the same size.
#pragma once

#include "exchange.hpp"

namespace headway::glue {

/// A status of MPI.  The ranks are at most telling_ranks_max.  Of blocks that are in place, or whose types are not
/// contiguous, a copy is made: the ranks tell no sizes in calls after one that had such.
[[nodiscard]] int exchange_in_pieces(const Exchange& exchange, const OwnPlace& place, const ToldCall& told,
                                     const OwnCall& call) noexcept;

}  // namespace headway::glue

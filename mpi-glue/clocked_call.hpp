// SPDX-License-Identifier: MIT
// The messages of a call that a rank paces by itself: each goes in pieces of one frame, or of as many as the plan allows,
// and towards each cluster the pieces leave by a clock (send_clock.hpp), in turn to all of the cluster's ranks.  Ranks of one host exchange whole
// messages, by no clock.
//
// How many pieces a message has is the sender's to say: the last one is shorter than all others, if need be empty.  A
// rank that expects more of them takes none after it, as a receive takes fewer bytes than it has room for.  One that
// expects fewer returns MPI_ERR_TRUNCATE and waits for no more of them; they stay on the channel, which the ranks change
// at their next agreement.
//
// Why nobody waits for ever (messages.hpp): a rank posts its receives in the order of the pieces' steps, and its sends at
// most window_sends - 1 steps ahead of the first one that it has not posted.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <span>

#include "exchange_order.hpp"
#include "messages.hpp"
#include "rank_rates.hpp"
#include "send_clock.hpp"

namespace headway::glue {

/// A message, or the room for one.
struct MessageBytes {
    const char* data = nullptr;
    std::uint64_t count = 0;
    bool is_there = true;  ///< false: there is no message, which is less than an empty one

    [[nodiscard]] static MessageBytes none() { return {nullptr, 0, false}; }
};

/// The messages of a call, from and to each rank.
class CallMessages {
public:
    virtual ~CallMessages() = default;
    [[nodiscard]] virtual MessageBytes goes_to(int rank) const = 0;
    [[nodiscard]] virtual MessageBytes comes_from(int rank) const = 0;
};

/// Of a communicator: its order, and a cluster for each rank, same_host of those on this one's.
struct ClockedPlace {
    const ExchangeOrder* order = nullptr;
    const int* cluster_of_rank = nullptr;
    std::span<bool> has_ended;  ///< by rank; for the call's own use
};
inline constexpr int same_host = -1;

struct ClockedOutcome {
    int status = MPI_SUCCESS;  ///< of MPI
    bool left_pieces = false;  ///< on the channel
};

/// All ranks of the call have pieces of the same size.
[[nodiscard]] ClockedOutcome carry_out_by_clock(const ClockedPlace& place, const CallRates& rates, const OwnCall& call,
                                                const CallMessages& call_messages) noexcept;

}  // namespace headway::glue

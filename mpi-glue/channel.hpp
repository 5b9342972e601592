// SPDX-License-Identifier: MIT
// Over what our own messages go: the carrier, one communicator of all ranks of the job that is ours alone and is made
// in MPI_Init, where the program can have nothing pending.  No other communicator is ever made, so none of ours waits
// for one of the program's, needs a context that the program may want, or is freed in any order.
//
// Each communicator of the program on which algorithms of ours run has a channel, a part of the carrier's tags.  Its
// ranks agree on a number that none of them uses for another communicator, at its first call, by an allreduce on the
// program's communicator; all that comes later goes over the carrier.  Each call on a channel has tags of its own; when
// they are used up the ranks agree on a number once more.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

#include "messages.hpp"

namespace headway::glue {

inline constexpr int channel_bits = 10;
inline constexpr int call_bits = 16;
inline constexpr int channels_max = 1 << channel_bits;
inline constexpr std::uint32_t calls_per_channel = 1U << call_bits;
/// Open MPI (2^31 - 1) and MPICH over UCX (2^28 - 1) both offer at least this tag.
inline constexpr int tag_max_needed = channels_max * (1 << call_bits) * message_kinds - 1;

[[nodiscard]] constexpr int first_tag_of(int channel, std::uint32_t call) {
    return (channel << call_bits | static_cast<int>(call % calls_per_channel)) * message_kinds;
}

class Carrier {
public:
    /// Collective over MPI_COMM_WORLD, in MPI_Init.  False at all ranks: they cannot have one.
    [[nodiscard]] bool open() noexcept;
    /// Collective over MPI_COMM_WORLD; MPI is about to be finalised.
    void close() noexcept;

    /// An empty message from each rank to each other, if they are not too many: so the MPI library opens its connections
    /// now, and not in the first exchange, whose ranks would get out of step by that.  False: they are too many.
    /// Collective over MPI_COMM_WORLD.
    [[nodiscard]] bool connect_all() noexcept;

    [[nodiscard]] MPI_Comm communicator() const { return carrier_; }
    /// The communicator of this process alone: see argument_check.hpp.
    [[nodiscard]] MPI_Comm lonely() const { return lonely_; }

    /// A number for `communicator` that none of its ranks uses for another one; none: at no rank.  Collective over
    /// `communicator`; `is_able`: this rank could use it.  Errors are returned, not told.
    [[nodiscard]] std::optional<int> agree_on_channel(MPI_Comm communicator, bool is_able) noexcept;
    void give_back(int channel) noexcept;
    [[nodiscard]] StandingReceives* standing() { return &standing_; }

private:
    using Mask = std::array<std::uint64_t, channels_max / 64>;

    /// One rank's offer; the ranks agree on the bitwise and of all offers.
    struct Offer {
        std::uint64_t is_able = 0;  ///< all ones, or zero
        std::uint64_t is_held = 0;  ///< zero: another thread of the process is about to take one
        Mask free{};
    };
    static_assert(sizeof(Offer) == sizeof(std::uint64_t) * (2 + channels_max / 64));

    [[nodiscard]] Offer offer(bool is_able) noexcept;
    [[nodiscard]] std::optional<int> taken(const Offer& own, const Offer& all) noexcept;

    MPI_Comm carrier_ = MPI_COMM_NULL;
    MPI_Comm lonely_ = MPI_COMM_NULL;
    StandingReceives standing_;
    std::mutex mutex_;  ///< guards what follows
    bool is_held_ = false;
    Mask used_{};
};

/// Rank 0's words to all ranks, in place; a status of MPI.  Collective over the call's ranks.
[[nodiscard]] int tell_all(std::uint64_t* words, int count, const OwnCall& call) noexcept;

/// The largest of all ranks' words, at all ranks, in place; a status of MPI.  Collective over the call's ranks.
[[nodiscard]] int agree_on_largest(std::uint64_t* words, int count, const OwnCall& call) noexcept;

}  // namespace headway::glue

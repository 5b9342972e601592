// SPDX-License-Identifier: MIT
// In which step each piece of a message goes, and when, in an exchange whose sizes all ranks know
// (piecewise_exchange.hpp).  All ranks come to the same schedule, so each piece has the same step at
// both of its ends.
//
// There are rounds, and in each round a step for each pair of ranks (exchange_order.hpp).
//
//   Where a kernel paces: all messages go in as many pieces, one in each round, and a round's pieces
//   leave together.
//
//   Where ranks pace: pieces fill frames, so a shorter message has fewer of them and leaves out rounds,
//   at even distances.  Each step has a moment of its own.  In a step a host sends to one host only, and
//   gets from one only, so pieces meet in front of a port only where messages leave out rounds, and then
//   those of different pairs leave out different ones.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "told_traffic.hpp"

namespace headway::glue {

/// A part of a message; empty: none.
struct Piece {
    std::size_t first = 0, bytes = 0;
};

class PieceSchedule {
public:
    /// Two ranks, and whether they are on one host, where nothing is paced.
    struct Pair {
        int from = 0, to = 0;
        bool is_on_one_host = false;
    };

    /// Of one round, in which each message goes as a whole.
    PieceSchedule() = default;

    [[nodiscard]] static PieceSchedule of_kernel(std::size_t pieces) {
        PieceSchedule schedule;
        schedule.rounds_ = pieces;
        return schedule;
    }
    /// Pieces of `piece_bytes`; the largest message between two hosts has one in each round.
    [[nodiscard]] static PieceSchedule of_clocks(const SizeTable& sizes, const std::vector<int>& host_of_rank,
                                                 std::uint64_t piece_bytes) noexcept;

    [[nodiscard]] bool is_of_clocks() const { return piece_bytes_ > 0; }
    [[nodiscard]] int rounds() const { return static_cast<int>(rounds_); }

    /// Of a message of so many bytes.
    [[nodiscard]] Piece piece_in(int round, const Pair& pair, std::uint64_t bytes) const {
        return is_of_clocks() ? clocked_piece(static_cast<std::uint64_t>(round), pair, bytes)
                              : equal_piece(static_cast<std::size_t>(round), bytes);
    }
    /// When a step of a round comes in a call that takes `duration`.
    [[nodiscard]] std::chrono::nanoseconds moment_of(int round, int step, int steps,
                                                     std::chrono::nanoseconds duration) const {
        const auto rounds = static_cast<std::int64_t>(rounds_);
        if (!is_of_clocks()) return duration * std::max(0, round - pieces_ahead + 1) / rounds;
        // a product in whole numbers could be too large
        const double part = (static_cast<double>(round) + static_cast<double>(step) / steps) / static_cast<double>(rounds);
        return std::chrono::nanoseconds(static_cast<std::int64_t>(part * static_cast<double>(duration.count())));
    }

private:
    [[nodiscard]] Piece equal_piece(std::size_t round, std::uint64_t bytes) const {
        const std::size_t first = bytes * round / rounds_;
        return {first, bytes * (round + 1) / rounds_ - first};
    }
    [[nodiscard]] Piece clocked_piece(std::uint64_t round, const Pair& pair, std::uint64_t bytes) const;
    [[nodiscard]] std::uint64_t bytes_of_piece(const Pair& pair) const;

    std::size_t rounds_ = 1;
    std::uint64_t piece_bytes_ = 0;  ///< 0: a kernel paces
    std::uint64_t ranks_ = 1;
};

}  // namespace headway::glue

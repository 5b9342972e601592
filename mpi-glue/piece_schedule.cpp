// SPDX-License-Identifier: MIT
#include "piece_schedule.hpp"

#include "rank_rates.hpp"

namespace headway::glue {

PieceSchedule PieceSchedule::of_clocks(const SizeTable& sizes, const std::vector<int>& host_of_rank,
                                       std::uint64_t piece_bytes) noexcept {
    PieceSchedule schedule;
    schedule.piece_bytes_ = piece_bytes;
    schedule.ranks_ = static_cast<std::uint64_t>(sizes.ranks());
    for (int from = 0; from < sizes.ranks(); ++from) {
        for (int to = 0; to < sizes.ranks(); ++to) {
            const Pair pair{from, to,
                            host_of_rank[static_cast<std::size_t>(from)] == host_of_rank[static_cast<std::size_t>(to)]};
            schedule.rounds_ =
                std::max(schedule.rounds_, quotient_up(sizes.sent(from, to), schedule.bytes_of_piece(pair)));
        }
    }
    return schedule;
}

std::uint64_t PieceSchedule::bytes_of_piece(const Pair& pair) const {
    return pair.is_on_one_host ? here_piece_bytes : piece_bytes_;
}

/// Piece k of n goes in the round at (k + part) / n of all of them.  `part` is below 1, and spreads the pairs of
/// ranks whose messages have as many pieces.
Piece PieceSchedule::clocked_piece(std::uint64_t round, const Pair& pair, std::uint64_t bytes) const {
    const std::uint64_t each = bytes_of_piece(pair), pieces = quotient_up(bytes, each);
    if (pieces == 0) return {};
    const std::uint64_t part = static_cast<std::uint64_t>(5 * pair.from + 3 * pair.to) % ranks_;
    const auto round_of = [&](std::uint64_t piece) { return (piece * ranks_ + part) * rounds_ / (pieces * ranks_); };
    // the first piece that does not go in an earlier round
    const std::uint64_t least = quotient_up(round * pieces * ranks_, rounds_);
    const std::uint64_t piece = least <= part ? 0 : quotient_up(least - part, ranks_);
    if (piece >= pieces || round_of(piece) != round) return {};
    return {piece * each, std::min(each, bytes - piece * each)};
}

}  // namespace headway::glue

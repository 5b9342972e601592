// SPDX-License-Identifier: MIT
#include "piecewise_exchange.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "packed_block.hpp"
#include "send_clock.hpp"
#include "told_traffic.hpp"

namespace headway::glue {
namespace {

using Clock = std::chrono::steady_clock;

/// In a longer pause MPI has to go on.
constexpr std::chrono::microseconds longest_pause{500};

class PiecewiseExchange {
public:
    PiecewiseExchange(const Exchange& exchange, const OwnPlace& place, const ToldCall& told, const OwnCall& call)
        : place_(place), told_(told), call_(call), messages_(call) {
        for (int rank = 0; rank < call.ranks; ++rank) {
            const auto at = static_cast<std::size_t>(rank);
            // in place what comes overwrites what goes there
            sent_[at] = PackedBlock(exchange.goes_to(rank), exchange.in_place);
            received_[at] = PackedBlock(exchange.received.of(rank), false);
            note_room(sent_[at], told.sizes->sent(call.rank, rank));
            note_room(received_[at], told.sizes->sent(rank, call.rank));
        }
    }

    /// Each piece has a step of its own, which is the same at both of its ends (messages.hpp).
    int run() noexcept {
        const std::optional<ExactPauses> exactly = exact_pauses();
        for (PackedBlock& block : sent_) block.read(messages_);
        begin_ = Clock::now();
        const int steps = place_.order->steps();
        const auto receive = [&](int step) {
            const int from = place_.order->from(step % steps);
            if (from == nobody) return;
            const Piece piece = piece_between(from, call_.rank, step / steps);
            if (piece.bytes > 0) messages_.receive(part(received_, from, piece), from);
        };
        const auto send = [&](int step) {
            const int round = step / steps, to = place_.order->to(step % steps);
            if (!told_.schedule.is_of_clocks() && step % steps == 0)
                messages_.progress_until(begin_ + moment_of(round, 0));
            if (to == nobody) return;
            const Piece piece = piece_between(call_.rank, to, round);
            if (piece.bytes == 0) return;
            if (told_.schedule.is_of_clocks()) wait_for_turn(round, step % steps);
            messages_.send(part(sent_, to, piece), to);
        };
        in_steps(told_.schedule.rounds() * steps, receive, send);
        messages_.wait_for_all();
        for (PackedBlock& block : received_) block.write(messages_);
        return messages_.status();
    }

private:
    using PackedBlocks = std::array<PackedBlock, telling_ranks_max>;

    [[nodiscard]] std::optional<ExactPauses> exact_pauses() const {
        if (!told_.schedule.is_of_clocks()) return std::nullopt;
        return std::optional<ExactPauses>(std::in_place);
    }

    [[nodiscard]] Piece piece_between(int from, int to, int round) const {
        return told_.schedule.piece_in(round, {from, to, place_.is_on_one_host(from, to)}, told_.sizes->sent(from, to));
    }

    /// If a program sends more than there is room for, its pieces come, since the sender relies on
    /// that, but they find no room.
    [[nodiscard]] static Block part(PackedBlocks& blocks, int rank, const Piece& piece) {
        PackedBlock& block = blocks[static_cast<std::size_t>(rank)];
        return piece.first + piece.bytes <= block.bytes() ? block.part(piece.first, piece.bytes) : Block{};
    }

    void note_room(const PackedBlock& block, std::uint64_t bytes) {
        if (!block.has_memory()) messages_.note(MPI_ERR_NO_MEM);
        if (bytes > block.bytes()) messages_.note(MPI_ERR_TRUNCATE);
    }

    [[nodiscard]] Clock::duration moment_of(int round, int step) const {
        return told_.schedule.moment_of(round, step, place_.order->steps(), told_.duration);
    }

    /// Of a rank that paces itself.  One that is late by more than its next piece is so from then on: two pieces
    /// follow each other, and never a burst.
    void wait_for_turn(int round, int step) {
        const auto turn = begin_ + moment_of(round, step);
        while (!messages_.is_broken()) {
            messages_.progress();
            const auto left = turn - Clock::now();
            if (left <= Clock::duration::zero()) break;
            if (left > shortest_pause) std::this_thread::sleep_for(std::min<Clock::duration>(left, longest_pause));
        }
        const auto late = Clock::now() - turn - told_.duration / told_.schedule.rounds() / call_.ranks;
        begin_ += std::max(late, Clock::duration::zero());
    }

    const OwnPlace& place_;
    const ToldCall& told_;
    OwnCall call_;
    Messages messages_;
    Clock::time_point begin_;  ///< and by how much this rank is late
    PackedBlocks sent_;      ///< by rank
    PackedBlocks received_;  ///< by rank
};

}  // namespace

int exchange_in_pieces(const Exchange& exchange, const OwnPlace& place, const ToldCall& told,
                       const OwnCall& call) noexcept {
    return PiecewiseExchange(exchange, place, told, call).run();
}

}  // namespace headway::glue

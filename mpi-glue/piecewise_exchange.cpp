// SPDX-License-Identifier: MIT
#include "piecewise_exchange.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "packed_block.hpp"
#include "told_traffic.hpp"

namespace headway::glue {
namespace {

using Clock = std::chrono::steady_clock;

class PiecewiseExchange {
public:
    PiecewiseExchange(const Exchange& exchange, const ExchangeOrder& order, const ToldCall& told, const OwnCall& call)
        : order_(order), told_(told), call_(call), messages_(call) {
        for (int rank = 0; rank < call.ranks; ++rank) {
            const auto at = static_cast<std::size_t>(rank);
            // in place what comes overwrites what goes there
            sent_[at] = PackedBlock(exchange.goes_to(rank), exchange.in_place);
            received_[at] = PackedBlock(exchange.received.of(rank), false);
            note_room(sent_[at], told.sizes->sent(call.rank, rank));
            note_room(received_[at], told.sizes->sent(rank, call.rank));
        }
    }

    /// All first pieces, then all second ones and so on: each piece has a step of its own, which is the same at both of
    /// its ends (messages.hpp).
    int run() noexcept {
        const auto begin = Clock::now();
        const int steps = order_.steps();
        for (PackedBlock& block : sent_) block.read(messages_);
        const auto receive = [&](int step) {
            const int from = order_.from(step % steps);
            if (from == nobody) return;
            const Piece piece = piece_of(told_.sizes->sent(from, call_.rank), step / steps);
            if (piece.bytes > 0) messages_.receive(part(received_, from, piece), from);
        };
        const auto send = [&](int step) {
            const int number = step / steps, to = order_.to(step % steps);
            if (step % steps == 0) messages_.progress_until(begin + moment_of(number));
            if (to == nobody) return;
            const Piece piece = piece_of(told_.sizes->sent(call_.rank, to), number);
            if (piece.bytes > 0) messages_.send(part(sent_, to, piece), to);
        };
        in_steps(static_cast<int>(told_.pieces) * steps, receive, send);
        messages_.wait_for_all();
        for (PackedBlock& block : received_) block.write(messages_);
        return messages_.status();
    }

private:
    using PackedBlocks = std::array<PackedBlock, telling_ranks_max>;
    struct Piece {
        std::size_t first = 0, bytes = 0;
    };

    /// Of as many pieces as all messages have; empty if there are fewer bytes.
    [[nodiscard]] Piece piece_of(std::size_t bytes, int number) const {
        const auto at = static_cast<std::size_t>(number);
        const std::size_t first = bytes * at / told_.pieces;
        return {first, bytes * (at + 1) / told_.pieces - first};
    }

    /// Of a program that sends more than there is room for, the pieces come, for the sender relies on that, but find none.
    [[nodiscard]] static Block part(PackedBlocks& blocks, int rank, const Piece& piece) {
        PackedBlock& block = blocks[static_cast<std::size_t>(rank)];
        return piece.first + piece.bytes <= block.bytes() ? block.part(piece.first, piece.bytes) : Block{};
    }

    void note_room(const PackedBlock& block, std::uint64_t bytes) {
        if (!block.has_memory()) messages_.note(MPI_ERR_NO_MEM);
        if (bytes > block.bytes()) messages_.note(MPI_ERR_TRUNCATE);
    }

    [[nodiscard]] Clock::duration moment_of(int piece) const {
        return told_.duration * std::max(0, piece - pieces_ahead + 1) / static_cast<std::int64_t>(told_.pieces);
    }

    const ExchangeOrder& order_;
    const ToldCall& told_;
    OwnCall call_;
    Messages messages_;
    PackedBlocks sent_;      ///< by rank
    PackedBlocks received_;  ///< by rank
};

}  // namespace

int exchange_in_pieces(const Exchange& exchange, const ExchangeOrder& order, const ToldCall& told,
                       const OwnCall& call) noexcept {
    return PiecewiseExchange(exchange, order, told, call).run();
}

}  // namespace headway::glue

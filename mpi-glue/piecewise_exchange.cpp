// SPDX-License-Identifier: MIT
#include "piecewise_exchange.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "message_size.hpp"
#include "packed_block.hpp"
#include "told_traffic.hpp"

namespace headway::glue {
namespace {

using Clock = std::chrono::steady_clock;

/// A message as bytes: in place, or in memory of our own.
struct ByteMessage {
    char* data = nullptr;
    std::size_t bytes = 0;
    std::vector<char> copy{};

    void use_copy() {
        copy.resize(bytes);
        data = copy.data();
    }
    /// Of as many pieces as all messages have; empty if there are fewer bytes.
    [[nodiscard]] Block piece(std::size_t number, std::size_t pieces) const {
        const std::size_t begin = bytes * number / pieces;
        return {data + begin, int_of(bytes * (number + 1) / pieces - begin), MPI_BYTE};
    }
};

class PiecewiseExchange {
public:
    PiecewiseExchange(const Exchange& exchange, const ExchangeOrder& order, const ToldCall& told,
                      const OwnCall& call)
        : exchange_(exchange),
          order_(order),
          duration_(told.duration),
          communicator_(call.communicator),
          messages_(call),
          pieces_(told.pieces) {
        const auto own = static_cast<std::size_t>(place_in(communicator_).rank);
        for (std::size_t rank = 0; rank < told.sizes.size(); ++rank) {
            add_sent(static_cast<int>(rank), told.sizes[own][rank]);
            add_received(static_cast<int>(rank), told.sizes[rank][own]);
        }
    }

    /// All first pieces, then all second ones and so on: each piece has a step of its own, which
    /// is the same at both of its ends (messages.hpp).
    int run() {
        const auto begin = Clock::now();
        const int steps = order_.steps();
        const auto receive = [&](int step) {
            const int from = order_.from(step % steps);
            const Block piece = piece_of(received_, from, step / steps);
            if (piece.count > 0) messages_.receive(piece, from);
        };
        const auto send = [&](int step) {
            const int number = step / steps;
            if (step % steps == 0) messages_.progress_until(begin + moment_of(number));
            const int to = order_.to(step % steps);
            const Block piece = piece_of(sent_, to, number);
            if (piece.count > 0) messages_.send(piece, to);
        };
        in_steps(static_cast<int>(pieces_) * steps, receive, send);
        messages_.wait_for_all();
        unpack_received();
        return messages_.status();
    }

private:
    using ByteMessages = std::vector<ByteMessage>;

    [[nodiscard]] Clock::duration moment_of(int piece) const {
        return duration_ * std::max(0, piece - pieces_ahead + 1) / static_cast<std::int64_t>(pieces_);
    }

    [[nodiscard]] Block piece_of(const ByteMessages& messages, int rank, int number) const {
        if (rank == nobody) return {};
        return messages[static_cast<std::size_t>(rank)].piece(static_cast<std::size_t>(number), pieces_);
    }

    void add_sent(int rank, std::size_t bytes) {
        const Block block = exchange_.sent(rank);
        ByteMessage& message = sent_.emplace_back(ByteMessage{static_cast<char*>(block.room()), bytes});
        if (bytes == 0 || is_packed_already(block.type)) return;
        message.use_copy();
        messages_.note(pack(block, message.data, bytes, communicator_));
    }

    /// Of a program that sends more than there is room for, all comes, as the sender relies on it.
    void add_received(int rank, std::size_t bytes) {
        const Block block = exchange_.received(rank);
        ByteMessage& message = received_.emplace_back(ByteMessage{static_cast<char*>(block.room()), bytes});
        const bool has_room = bytes <= bytes_of(block);
        if (!has_room) messages_.note(MPI_ERR_TRUNCATE);
        if (bytes > 0 && !(has_room && is_packed_already(block.type))) message.use_copy();
    }

    void unpack_received() {
        for (std::size_t rank = 0; rank < received_.size(); ++rank) {
            const ByteMessage& message = received_[rank];
            if (message.copy.empty()) continue;
            Block block = exchange_.received(static_cast<int>(rank));
            if (message.bytes > bytes_of(block)) continue;
            block.count = static_cast<int>(message.bytes / message_bytes(1, block.type));
            messages_.note(unpack(message.data, message.bytes, block, communicator_));
        }
    }

    const Exchange& exchange_;
    const ExchangeOrder& order_;
    std::chrono::nanoseconds duration_;
    MPI_Comm communicator_;
    Messages messages_;
    ByteMessages sent_;      ///< by rank
    ByteMessages received_;  ///< by rank
    std::size_t pieces_;     ///< of each message
};

}  // namespace

int exchange_in_pieces(const Exchange& exchange, const ExchangeOrder& order,
                       const ToldCall& told, const OwnCall& call) {
    return PiecewiseExchange(exchange, order, told, call).run();
}

}  // namespace headway::glue

// SPDX-License-Identifier: MIT
#include "told_sizes.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "message_size.hpp"
#include "packed_block.hpp"

namespace headway::glue {
namespace {

/// A plan for equal messages is off by no more than this, which the ports' buffers make up for.
constexpr double still_even = 1.5;

bool has_large_one(const std::function<Block(int)>& block_of, const Place& place) {
    std::uint64_t largest = 0;
    double all = 0;
    for (int rank = 0; rank < place.ranks; ++rank) {
        if (rank == place.rank) continue;
        const std::uint64_t bytes = bytes_of(block_of(rank));
        largest = std::max(largest, bytes);
        all += static_cast<double>(bytes);
    }
    return static_cast<double>(largest) * (place.ranks - 1) > still_even * all;
}

std::vector<std::uint64_t> sent_by(const Exchange& exchange, int ranks) {
    std::vector<std::uint64_t> bytes;
    for (int rank = 0; rank < ranks; ++rank)
        bytes.push_back(bytes_of(exchange.in_place() ? exchange.received(rank) : exchange.sent(rank)));
    return bytes;
}

}  // namespace

bool are_uneven(const Exchange& exchange, MPI_Comm communicator) {
    const Place place = place_in(communicator);
    const auto received = [&](int rank) { return exchange.received(rank); };
    const auto sent = [&](int rank) { return exchange.sent(rank); };
    return has_large_one(received, place) || (!exchange.in_place() && has_large_one(sent, place));
}

/// A rank tells its sizes and, as the last number, the buffer.
ToldSizes tell_sizes(const Exchange& exchange, std::uint64_t port_buffer_bytes, const OwnCall& call) {
    const auto [own, ranks] = place_in(call.communicator);
    std::vector rows(static_cast<std::size_t>(ranks),
                     std::vector<std::uint64_t>(static_cast<std::size_t>(ranks) + 1));
    const auto row_of = [&](int rank) {
        return Block{rows[static_cast<std::size_t>(rank)].data(), ranks + 1, MPI_UINT64_T};
    };
    rows[static_cast<std::size_t>(own)] = sent_by(exchange, ranks);
    rows[static_cast<std::size_t>(own)].push_back(port_buffer_bytes);
    Messages messages(call);
    for (int distance = 1; distance < ranks; ++distance) {
        const int from = (own - distance + ranks) % ranks;
        messages.receive(row_of(from), from);
        messages.send(row_of(own), (own + distance) % ranks);
    }
    if (messages.wait_for_all() != MPI_SUCCESS) return {};
    ToldSizes told;
    for (auto& row : rows) {
        const std::uint64_t known = row.back();
        if (told.port_buffer_bytes == 0 || (known > 0 && known < told.port_buffer_bytes))
            told.port_buffer_bytes = known;
        row.pop_back();
    }
    told.sizes = std::move(rows);
    return told;
}

}  // namespace headway::glue

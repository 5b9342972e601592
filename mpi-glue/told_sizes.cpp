// SPDX-License-Identifier: MIT
#include "told_sizes.hpp"

#include <algorithm>

namespace headway::glue {
namespace {

/// A plan for equal messages is off by no more than this, which the ports' buffers make up for.
constexpr double still_even = 1.5;

bool has_large_one(const auto& block_of, const OwnCall& call) {
    std::uint64_t largest = 0;
    double all = 0;
    for (int rank = 0; rank < call.ranks; ++rank) {
        if (rank == call.rank) continue;
        const std::uint64_t bytes = bytes_of(block_of(rank));
        largest = std::max(largest, bytes);
        all += static_cast<double>(bytes);
    }
    return static_cast<double>(largest) * (call.ranks - 1) > still_even * all;
}

}  // namespace

bool are_uneven(const Exchange& exchange, const OwnCall& call) noexcept {
    return has_large_one([&](int rank) { return exchange.received.of(rank); }, call) ||
           (!exchange.in_place && has_large_one([&](int rank) { return exchange.sent.of(rank); }, call));
}

bool are_contiguous(const Exchange& exchange, const OwnCall& call) noexcept {
    const auto is_right = [](const Block& block) { return is_empty(block) || is_contiguous(block.type); };
    for (int rank = 0; rank < call.ranks; ++rank) {
        if (!is_right(exchange.received.of(rank)) || !is_right(exchange.goes_to(rank))) return false;
    }
    return true;
}

int tell_sizes(const Exchange& exchange, std::uint64_t port_buffer_bytes, const OwnCall& call,
               SizeTable& sizes) noexcept {
    const auto row_of = [&](int rank) { return Block{sizes.row(rank), sizes.row_words(), MPI_UINT64_T}; };
    std::uint64_t* const own = sizes.row(call.rank);
    for (int rank = 0; rank < call.ranks; ++rank) own[rank] = bytes_of(exchange.goes_to(rank));
    own[call.ranks] = port_buffer_bytes;
    Messages messages(call);
    for (int distance = 1; distance < call.ranks; ++distance) {
        const int from = wrapped(call.rank - distance, call.ranks);
        messages.receive(row_of(from), from, MessageKind::header);
        messages.send(row_of(call.rank), wrapped(call.rank + distance, call.ranks), MessageKind::header);
    }
    return messages.wait_for_all();
}

}  // namespace headway::glue

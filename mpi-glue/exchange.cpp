// SPDX-License-Identifier: MIT
#include "exchange.hpp"

#include "block_copy.hpp"
#include "message_size.hpp"
#include "node_exchange.hpp"
#include "piecewise_exchange.hpp"

namespace headway::glue {
namespace {

void receive(const Exchange& exchange, int from, Messages& messages) {
    const Block block = exchange.received(from);
    if (!is_empty(block)) messages.receive(block, from);
}

void send(const Exchange& exchange, int to, Messages& messages) {
    const Block block = exchange.sent(to);
    if (!is_empty(block)) messages.send(block, to);
}

int linear(const Exchange& exchange, const ExchangeOrder& order, const OwnCall& call) {
    Messages messages(call);
    const auto receive_in = [&](int step) {
        if (const int from = order.from(step); from != nobody) receive(exchange, from, messages);
    };
    const auto send_in = [&](int step) {
        if (const int to = order.to(step); to != nobody) send(exchange, to, messages);
    };
    in_steps(order.steps(), receive_in, send_in);
    return messages.wait_for_all();
}

/// What is received would overwrite what is to be sent.
std::vector<BlockCopy> copies_of(const Exchange& exchange, const OwnCall& call, int& status) {
    const Place place = place_in(call.communicator);
    std::vector<BlockCopy> copies;
    copies.reserve(static_cast<std::size_t>(place.ranks));
    for (int rank = 0; rank < place.ranks; ++rank) copies.emplace_back(exchange.received(rank));
    Messages messages(call);
    for (int rank = 0; rank < place.ranks; ++rank)
        copies[static_cast<std::size_t>(rank)].fill(exchange.received(rank), place.rank, messages);
    status = messages.wait_for_all();
    return copies;
}

}  // namespace

MPI_Aint detail::extent_of(MPI_Datatype type) {
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_extent(type, &lower_bound, &extent);
    return extent;
}

// Types of empty blocks may be none at all, so they are not looked at.

Block block_in_order(const void* start, int count, MPI_Datatype type, int rank) {
    if (count == 0) return {start, 0, type};
    const MPI_Aint bytes = rank * (count * detail::extent_of(type));
    return {static_cast<const char*>(start) + bytes, count, type};
}

Block block_as_listed(const void* start, const int* counts, const int* displs, MPI_Datatype type,
                      int rank) {
    if (counts[rank] == 0) return {start, 0, type};
    return {static_cast<const char*>(start) + displs[rank] * detail::extent_of(type), counts[rank],
            type};
}

Block block_as_listed(const void* start, const int* counts, const int* displs,
                      const MPI_Datatype* types, int rank) {
    return {static_cast<const char*>(start) + displs[rank], counts[rank], types[rank]};
}

int carry_out(Algorithm algorithm, const Exchange& exchange, const ExchangeOrder& order,
              const ToldCall& told, const OwnCall& call) {
    const auto out_of_place = [&](const Exchange& from) {
        if (algorithm == Algorithm::node_aware) return exchange_by_nodes(from, order, call);
        return told.sizes.empty() ? linear(from, order, call)
                                  : exchange_in_pieces(from, order, told, call);
    };
    if (!exchange.in_place()) return out_of_place(exchange);
    int status = MPI_SUCCESS;
    const std::vector<BlockCopy> copies = copies_of(exchange, call, status);
    const Exchange from_copies(
        false, [&](int rank) { return copies[static_cast<std::size_t>(rank)].block(); },
        [&](int rank) { return exchange.received(rank); });
    keep_first_error(status, out_of_place(from_copies));
    return status;
}

}  // namespace headway::glue

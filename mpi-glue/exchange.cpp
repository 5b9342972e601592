// SPDX-License-Identifier: MIT
#include "exchange.hpp"

#include "block_copy.hpp"
#include "grid_exchange.hpp"
#include "message_size.hpp"

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

/// A step: both messages on their way, and both waited for.
void swap(const Exchange& exchange, int to, int from, Messages& messages) {
    receive(exchange, from, messages);
    send(exchange, to, messages);
    messages.wait_for_all();
}

/// The number of steps in which rank^step meets every rank.
int xor_steps(int ranks) {
    int steps = 1;
    while (steps < ranks) steps *= 2;
    return steps;
}

int pairwise_xor(const Exchange& exchange, Place place, const OwnCall& call,
                 const StepObserver& at_step) {
    Messages messages(call);
    for (int step = 0; step < xor_steps(place.ranks); ++step) {
        const int peer = place.rank ^ step;
        if (step > 0) at_step(step);
        if (peer < place.ranks) swap(exchange, peer, peer, messages);
    }
    return messages.status();
}

int pairwise_ring(const Exchange& exchange, Place place, const OwnCall& call,
                  const StepObserver& at_step) {
    const auto [rank, ranks] = place;
    Messages messages(call);
    for (int step = 0; step < ranks; ++step) {
        if (step > 0) at_step(step);
        swap(exchange, (rank + step) % ranks, (rank + ranks - step) % ranks, messages);
    }
    return messages.status();
}

int alltoall_b(const Exchange& exchange, Place place, const OwnCall& call) {
    Messages messages(call);
    const auto receive_in = [&](int step) {
        const int from = place.rank ^ step;
        if (from < place.ranks) receive(exchange, from, messages);
    };
    const auto send_in = [&](int step) {
        const int to = place.rank ^ step;
        if (to >= place.ranks || is_empty(exchange.sent(to))) return;
        messages.wait_for(messages.send(exchange.sent(to), to));
    };
    in_steps(xor_steps(place.ranks), receive_in, send_in);
    return messages.wait_for_all();
}

int out_of_place(Algorithm algorithm, const Exchange& exchange, const OwnCall& call,
                 const Surroundings& surroundings, const StepObserver& at_step) {
    const Place place = place_in(call.communicator);
    switch (algorithm) {
        case Algorithm::pairwise_xor: return pairwise_xor(exchange, place, call, at_step);
        case Algorithm::pairwise_ring: return pairwise_ring(exchange, place, call, at_step);
        case Algorithm::alltoall_b: return alltoall_b(exchange, place, call);
        case Algorithm::grid: return grid_exchange(exchange, place, call, surroundings.clusters);
        case Algorithm::native:
        case Algorithm::ring:
        case Algorithm::unknown:
        case Algorithm::linear: break;
    }
    return linear(exchange, surroundings.order, call);
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

int carry_out(Algorithm algorithm, const Exchange& exchange, const OwnCall& call,
              const Surroundings& surroundings, const StepObserver& at_step) {
    if (!exchange.in_place()) return out_of_place(algorithm, exchange, call, surroundings, at_step);
    int status = MPI_SUCCESS;
    const std::vector<BlockCopy> copies = copies_of(exchange, call, status);
    const Exchange from_copies(
        false, [&](int rank) { return copies[static_cast<std::size_t>(rank)].block(); },
        [&](int rank) { return exchange.received(rank); });
    keep_first_error(status, out_of_place(algorithm, from_copies, call, surroundings, at_step));
    return status;
}

}  // namespace headway::glue

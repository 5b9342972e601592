// SPDX-License-Identifier: MIT
#include "exchange.hpp"

#include "grid_exchange.hpp"
#include "message_size.hpp"
#include "packed_block.hpp"
#include "real.hpp"

namespace headway::glue {
namespace {

constexpr int exchange_tag = 1;

/// Under MPI_IN_PLACE what is received overwrites what is to be sent, so that
/// is packed first.  The exchange refers to `packed`.
Exchange out_of_place(const Exchange& exchange, int ranks, std::vector<PackedBlock>& packed,
                      MPI_Comm own) {
    packed.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) packed.emplace_back(exchange.received(rank), own);
    return Exchange(
        false, [&packed](int rank) { return packed[static_cast<std::size_t>(rank)].block(); },
        [&exchange](int rank) { return exchange.received(rank); });
}

int receive_later(const Exchange& exchange, int from, MPI_Comm own, MPI_Request* request) {
    const Block block = exchange.received(from);
    return PMPI_Irecv(block.room(), block.count, block.type, from, exchange_tag, own, request);
}

int send_later(const Exchange& exchange, int to, MPI_Comm own, MPI_Request* request) {
    const Block block = exchange.sent(to);
    return real::Isend(block.data, block.count, block.type, to, exchange_tag, own, request);
}

int wait_for_all(std::vector<MPI_Request>& requests) {
    return real::Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

int linear(const Exchange& exchange, Place own_place, MPI_Comm own) {
    const auto [rank, ranks] = own_place;
    std::vector<MPI_Request> requests(2 * static_cast<std::size_t>(ranks), MPI_REQUEST_NULL);
    auto next = requests.begin();
    int status = MPI_SUCCESS;
    // each begins behind himself, so that not all send to the same one at first
    for (int step = 0; step < ranks && status == MPI_SUCCESS; ++step)
        status = receive_later(exchange, (rank + ranks - step) % ranks, own, &*next++);
    for (int step = 0; step < ranks && status == MPI_SUCCESS; ++step)
        status = send_later(exchange, (rank + step) % ranks, own, &*next++);
    return status == MPI_SUCCESS ? wait_for_all(requests) : status;
}

/// A step: both messages on their way, and both waited for.
int swap(const Exchange& exchange, int to, int from, MPI_Comm own) {
    std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
    int status = receive_later(exchange, from, own, &requests[0]);
    if (status == MPI_SUCCESS) status = send_later(exchange, to, own, &requests[1]);
    return status == MPI_SUCCESS ? wait_for_all(requests) : status;
}

/// A rank with an error goes through all steps like the others, who wait for it.
void keep_first_error(int& status, int next) {
    if (status == MPI_SUCCESS) status = next;
}

/// The number of steps in which rank^step meets every rank.
int xor_steps(int ranks) {
    int steps = 1;
    while (steps < ranks) steps *= 2;
    return steps;
}

int pairwise_xor(const Exchange& exchange, Place place, MPI_Comm own, const StepObserver& at_step) {
    int status = MPI_SUCCESS;
    for (int step = 0; step < xor_steps(place.ranks); ++step) {
        const int peer = place.rank ^ step;
        if (step > 0) at_step(step);
        if (peer < place.ranks) keep_first_error(status, swap(exchange, peer, peer, own));
    }
    return status;
}

int pairwise_ring(const Exchange& exchange, Place place, MPI_Comm own,
                  const StepObserver& at_step) {
    const auto [rank, ranks] = place;
    int status = MPI_SUCCESS;
    for (int step = 0; step < ranks; ++step) {
        if (step > 0) at_step(step);
        const int after = (rank + step) % ranks;
        const int before = (rank + ranks - step) % ranks;
        keep_first_error(status, swap(exchange, after, before, own));
    }
    return status;
}

int alltoall_b(const Exchange& exchange, Place place, MPI_Comm own) {
    std::vector<MPI_Request> receives(static_cast<std::size_t>(place.ranks), MPI_REQUEST_NULL);
    int status = MPI_SUCCESS;
    for (int from = 0; from < place.ranks && status == MPI_SUCCESS; ++from)
        status = receive_later(exchange, from, own, &receives[static_cast<std::size_t>(from)]);
    for (int step = 0; step < xor_steps(place.ranks) && status == MPI_SUCCESS; ++step) {
        const int to = place.rank ^ step;
        if (to >= place.ranks) continue;
        const Block block = exchange.sent(to);
        status = real::Send(block.data, block.count, block.type, to, exchange_tag, own);
    }
    return status == MPI_SUCCESS ? wait_for_all(receives) : status;
}

}  // namespace

MPI_Aint detail::extent_of(MPI_Datatype type) {
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_extent(type, &lower_bound, &extent);
    return extent;
}

int carry_out(Algorithm algorithm, const Exchange& exchange, MPI_Comm own, const Clusters& clusters,
              const StepObserver& at_step) {
    const Place place = place_in(own);
    if (exchange.in_place()) {
        std::vector<PackedBlock> packed;
        return carry_out(algorithm, out_of_place(exchange, place.ranks, packed, own), own, clusters,
                         at_step);
    }
    switch (algorithm) {
        case Algorithm::pairwise_xor: return pairwise_xor(exchange, place, own, at_step);
        case Algorithm::pairwise_ring: return pairwise_ring(exchange, place, own, at_step);
        case Algorithm::alltoall_b: return alltoall_b(exchange, place, own);
        case Algorithm::grid: return grid_exchange(exchange, place, own, clusters);
        case Algorithm::native:
        case Algorithm::ring:
        case Algorithm::unknown:
        case Algorithm::linear: break;
    }
    return linear(exchange, place, own);
}

}  // namespace headway::glue

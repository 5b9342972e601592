// SPDX-License-Identifier: MIT
#include "rooted_exchange.hpp"

#include "real.hpp"

namespace headway::glue {
namespace {

constexpr int tag = 7;

}  // namespace

int RootedExchange::carry_out(MPI_Comm own) const {
    const Place place = place_in(own);
    if (place.rank == root_) return at_root(place, own);
    MPI_Request request = MPI_REQUEST_NULL;
    const int status = begin(own_, direction_ == Direction::to_root, root_, own, &request);
    return status == MPI_SUCCESS ? real::Wait(&request, MPI_STATUS_IGNORE) : status;
}

int RootedExchange::at_root(Place place, MPI_Comm own) const {
    const bool sends = direction_ == Direction::from_root;
    std::vector<MPI_Request> requests(static_cast<std::size_t>(place.ranks) + 1, MPI_REQUEST_NULL);
    auto next = requests.begin();
    int status = MPI_SUCCESS;
    for (int rank = 0; rank < place.ranks && status == MPI_SUCCESS; ++rank) {
        if (rank != root_ || !in_place_) status = begin(of_(rank), sends, rank, own, &*next++);
    }
    if (status == MPI_SUCCESS && !in_place_) status = begin(own_, !sends, root_, own, &*next++);
    if (status != MPI_SUCCESS) return status;
    return real::Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

int RootedExchange::begin(const Block& block, bool sends, int peer, MPI_Comm own,
                          MPI_Request* request) const {
    return sends ? real::Isend(block.data, block.count, block.type, peer, tag, own, request)
                 : PMPI_Irecv(block.room(), block.count, block.type, peer, tag, own, request);
}

}  // namespace headway::glue

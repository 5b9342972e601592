// SPDX-License-Identifier: MIT
#include "rooted_exchange.hpp"

#include "real.hpp"

namespace headway::glue {
namespace {

constexpr int rooted_tag = 7;
constexpr int receipt_tag = 8;

/// Of nothing, to who has sent a message or from who has received one.
int receipt(bool gives, int peer, MPI_Comm own, MPI_Request* request) {
    return gives ? real::Isend(nullptr, 0, MPI_BYTE, peer, receipt_tag, own, request)
                 : PMPI_Irecv(nullptr, 0, MPI_BYTE, peer, receipt_tag, own, request);
}

int wait_all(std::vector<MPI_Request>& requests) {
    return real::Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

int first_error(int status, int next_status) {
    return status == MPI_SUCCESS ? next_status : status;
}

}  // namespace

int RootedExchange::carry_out(MPI_Comm own) const {
    const Place place = place_in(own);
    if (place.rank == root_) return at_root(place, own);
    const bool sends = direction_ == Direction::to_root;
    std::vector<MPI_Request> message(1, MPI_REQUEST_NULL);
    std::vector<MPI_Request> receipts(1, MPI_REQUEST_NULL);
    int status = begin(own_, sends, root_, own, &message.front());
    if (status != MPI_SUCCESS) return status;
    status = wait_all(message);
    status = first_error(status, receipt(!sends, root_, own, &receipts.front()));
    return first_error(status, wait_all(receipts));
}

int RootedExchange::at_root(Place place, MPI_Comm own) const {
    const bool sends = direction_ == Direction::from_root;
    const auto ranks = static_cast<std::size_t>(place.ranks);
    std::vector<MPI_Request> messages(ranks + 1, MPI_REQUEST_NULL);  // by rank, then its own
    std::vector<MPI_Request> receipts(ranks, MPI_REQUEST_NULL);
    int status = MPI_SUCCESS;
    for (int rank = 0; rank < place.ranks && status == MPI_SUCCESS; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        if (rank == root_ && in_place_) continue;
        status = begin(of_(rank), sends, rank, own, &messages[at]);
        if (sends && rank != root_)
            status = first_error(status, receipt(false, rank, own, &receipts[at]));
    }
    if (status == MPI_SUCCESS && !in_place_)
        status = begin(own_, !sends, root_, own, &messages.back());
    if (status != MPI_SUCCESS) return status;
    status = sends ? wait_all(messages) : receive_all(messages, receipts, own);
    return first_error(status, wait_all(receipts));
}

/// Each sender may go on when its own message is here, even one that is too long.
int RootedExchange::receive_all(std::vector<MPI_Request>& messages,
                                std::vector<MPI_Request>& receipts, MPI_Comm own) const {
    int status = MPI_SUCCESS;
    for (;;) {
        int at = MPI_UNDEFINED;
        const int received = real::Waitany(static_cast<int>(messages.size()), messages.data(), &at,
                                           MPI_STATUS_IGNORE);
        status = first_error(status, received);
        if (at == MPI_UNDEFINED) return status;
        if (at == root_ || static_cast<std::size_t>(at) == receipts.size()) continue;
        status = first_error(
            status, receipt(true, at, own, &receipts[static_cast<std::size_t>(at)]));
    }
}

int RootedExchange::begin(const Block& block, bool sends, int peer, MPI_Comm own,
                          MPI_Request* request) const {
    return sends ? real::Isend(block.data, block.count, block.type, peer, rooted_tag, own, request)
                 : PMPI_Irecv(block.room(), block.count, block.type, peer, rooted_tag, own, request);
}

}  // namespace headway::glue

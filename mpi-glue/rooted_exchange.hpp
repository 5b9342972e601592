// SPDX-License-Identifier: MIT
// Our own algorithm for MPI_Gather, MPI_Gatherv, MPI_Scatter and MPI_Scatterv, for
// when the plan names it: linear.  The root exchanges one message with every rank,
// all at once, as the plan's rates take for granted; the libraries use trees,
// whose inner ranks pass on what is not theirs.
//
// A sender goes on when its receiver has the whole message and says so: until then
// the rates must hold, but MPI would let go of it as soon as the system has taken it.
//
// Right for any root, counts, datatypes and MPI_IN_PLACE at the root.  What is
// not significant at a rank is not looked at.
#pragma once

#include <mpi.h>

#include "exchange.hpp"
#include "message_size.hpp"

namespace headway::glue {

/// The arguments of one of the four operations.
class RootedExchange {
public:
    enum class Direction { to_root, from_root };

    /// `own` is this rank's message, `of` at the root each rank's.
    RootedExchange(Direction direction, int root, bool in_place, Block own, Exchange::BlockOf of)
        : direction_(direction), root_(root), in_place_(in_place), own_(own), of_(std::move(of)) {}

    /// A status of MPI.
    [[nodiscard]] int carry_out(MPI_Comm own) const;

private:
    [[nodiscard]] int at_root(Place place, MPI_Comm own) const;
    [[nodiscard]] int receive_all(std::vector<MPI_Request>& messages,
                                  std::vector<MPI_Request>& receipts, MPI_Comm own) const;
    [[nodiscard]] int begin(const Block& block, bool sends, int peer, MPI_Comm own,
                            MPI_Request* request) const;

    Direction direction_;
    int root_;
    bool in_place_;  ///< the root's own message is where it belongs
    Block own_;
    Exchange::BlockOf of_;
};

namespace rooted {

/// Rank r's `count` elements are the r-th of as many.
[[nodiscard]] inline Exchange::BlockOf in_order(const void* start, int count, MPI_Datatype type) {
    return [=](int rank) {
        const MPI_Aint bytes = count * detail::extent_of(type);
        return Block{detail::element(start, rank * bytes), count, type};
    };
}

[[nodiscard]] inline Exchange::BlockOf as_listed(const void* start, const int* counts,
                                                 const int* displs, MPI_Datatype type) {
    return [=](int rank) {
        const MPI_Aint bytes = displs[rank] * detail::extent_of(type);
        return Block{detail::element(start, bytes), counts[rank], type};
    };
}

[[nodiscard]] inline auto gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                                 MPI_Comm) {
    return [=] {
        return RootedExchange(RootedExchange::Direction::to_root, root, sendbuf == MPI_IN_PLACE,
                              {sendbuf, sendcount, sendtype},
                              in_order(recvbuf, recvcount, recvtype));
    };
}

[[nodiscard]] inline auto gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, const int* recvcounts, const int* displs,
                                  MPI_Datatype recvtype, int root, MPI_Comm) {
    return [=] {
        return RootedExchange(RootedExchange::Direction::to_root, root, sendbuf == MPI_IN_PLACE,
                              {sendbuf, sendcount, sendtype},
                              as_listed(recvbuf, recvcounts, displs, recvtype));
    };
}

[[nodiscard]] inline auto scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                                  MPI_Comm) {
    return [=] {
        return RootedExchange(RootedExchange::Direction::from_root, root, recvbuf == MPI_IN_PLACE,
                              {recvbuf, recvcount, recvtype},
                              in_order(sendbuf, sendcount, sendtype));
    };
}

[[nodiscard]] inline auto scatterv(const void* sendbuf, const int* sendcounts, const int* displs,
                                   MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                   MPI_Datatype recvtype, int root, MPI_Comm) {
    return [=] {
        return RootedExchange(RootedExchange::Direction::from_root, root, recvbuf == MPI_IN_PLACE,
                              {recvbuf, recvcount, recvtype},
                              as_listed(sendbuf, sendcounts, displs, sendtype));
    };
}

}  // namespace rooted
}  // namespace headway::glue

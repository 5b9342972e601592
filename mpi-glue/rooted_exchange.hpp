// SPDX-License-Identifier: MIT
// Our own algorithm for MPI_Gather, MPI_Gatherv, MPI_Scatter and MPI_Scatterv, for
// when the plan names it: linear.  The root exchanges one message with every rank,
// as many at once as the window of messages.hpp holds; the libraries use trees, whose
// inner ranks pass on what is not theirs.
//
// Who only sends goes on as soon as MPI has taken its message, as with the libraries' own
// algorithms.  What is still in its sockets keeps the rate of the phase that it was sent in
// (userspace/phase/phase_classifier.bpf.c, `sent`).
//
// Right for any root, counts, datatypes and MPI_IN_PLACE at the root.  What is
// not significant at a rank is not looked at, and messages of no bytes are not sent.
#pragma once

#include <mpi.h>

#include "exchange.hpp"

namespace headway::glue {

/// The arguments of one of the four operations.
class RootedExchange {
public:
    enum class Direction { to_root, from_root };

    /// `own` is this rank's message, `of` at the root each rank's.
    RootedExchange(Direction direction, int root, bool in_place, Block own, Exchange::BlockOf of)
        : direction_(direction), root_(root), in_place_(in_place), own_(own), of_(std::move(of)) {}

    /// A status of MPI.
    [[nodiscard]] int carry_out(const OwnCall& call) const;

private:
    void at_root(Place place, Messages& messages) const;
    void elsewhere(Messages& messages) const;
    void own_message(Place place, Messages& messages) const;

    Direction direction_;
    int root_;
    bool in_place_;  ///< the root's own message is where it belongs
    Block own_;
    Exchange::BlockOf of_;
};

namespace rooted {

/// The blocks at the root.
[[nodiscard]] inline Exchange::BlockOf in_order(const void* start, int count, MPI_Datatype type) {
    return [=](int rank) { return block_in_order(start, count, type, rank); };
}
[[nodiscard]] inline Exchange::BlockOf as_listed(const void* start, const int* counts,
                                                 const int* displs, MPI_Datatype type) {
    return [=](int rank) { return block_as_listed(start, counts, displs, type, rank); };
}

/// `root_takes`: a function of the check, whether the root's blocks are acceptable.
[[nodiscard]] auto gathered(const Block& own, int root, const Exchange::BlockOf& of,
                            const auto& root_takes) {
    const bool in_place = own.data == MPI_IN_PLACE;
    return CheckedCall{
        [=] {
            return RootedExchange(RootedExchange::Direction::to_root, root, in_place, own, of);
        },
        [=](const ArgumentCheck& check) {
            if (!check.is_rank(root)) return false;
            if (!check.is_root(root)) return !in_place && check.can_send(own);
            return root_takes(check) &&
                   (in_place || (check.can_send(own) && check.fit_together(own, of(root))));
        }};
}

[[nodiscard]] auto scattered(const Block& own, int root, const Exchange::BlockOf& of,
                             const auto& root_gives) {
    const bool in_place = own.data == MPI_IN_PLACE;
    return CheckedCall{
        [=] {
            return RootedExchange(RootedExchange::Direction::from_root, root, in_place, own, of);
        },
        [=](const ArgumentCheck& check) {
            if (!check.is_rank(root)) return false;
            if (!check.is_root(root)) return !in_place && check.can_receive(own);
            return root_gives(check) &&
                   (in_place || (check.can_receive(own) && check.fit_together(of(root), own)));
        }};
}

[[nodiscard]] inline auto gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                                 MPI_Comm) {
    return gathered({sendbuf, sendcount, sendtype}, root, in_order(recvbuf, recvcount, recvtype),
                    [=](const ArgumentCheck& check) {
                        return check.can_receive({recvbuf, recvcount, recvtype}) &&
                               check.are_apart(sendbuf, recvbuf);
                    });
}

[[nodiscard]] inline auto gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, const int* recvcounts, const int* displs,
                                  MPI_Datatype recvtype, int root, MPI_Comm) {
    return gathered({sendbuf, sendcount, sendtype}, root,
                    as_listed(recvbuf, recvcounts, displs, recvtype),
                    [=](const ArgumentCheck& check) {
                        return recvbuf != MPI_IN_PLACE &&
                               check.can_receive(recvbuf, recvcounts, displs, recvtype) &&
                               check.are_apart(sendbuf, recvbuf);
                    });
}

[[nodiscard]] inline auto scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                                  MPI_Comm) {
    return scattered({recvbuf, recvcount, recvtype}, root, in_order(sendbuf, sendcount, sendtype),
                     [=](const ArgumentCheck& check) {
                         return sendbuf != MPI_IN_PLACE &&
                                check.can_send({sendbuf, sendcount, sendtype}) &&
                                check.are_apart(sendbuf, recvbuf);
                     });
}

[[nodiscard]] inline auto scatterv(const void* sendbuf, const int* sendcounts, const int* displs,
                                   MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                   MPI_Datatype recvtype, int root, MPI_Comm) {
    return scattered({recvbuf, recvcount, recvtype}, root,
                     as_listed(sendbuf, sendcounts, displs, sendtype),
                     [=](const ArgumentCheck& check) {
                         return sendbuf != MPI_IN_PLACE &&
                                check.can_send(sendbuf, sendcounts, displs, sendtype) &&
                                check.are_apart(sendbuf, recvbuf);
                     });
}

}  // namespace rooted
}  // namespace headway::glue

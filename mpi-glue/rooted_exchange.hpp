// SPDX-License-Identifier: MIT
// Our own algorithm for MPI_Gather, MPI_Gatherv, MPI_Scatter and MPI_Scatterv, for when the plan names it: linear.  The
// root exchanges one message with every rank, which may have no bytes, as many at once as the window of messages.hpp
// holds; the libraries use trees, whose inner ranks pass on what is not theirs.
//
// Who only sends goes on as soon as MPI has taken its message, as with the libraries' own algorithms.  What is still in
// its sockets keeps the rate of the phase that it was sent in (userspace/phase/phase_classifier.bpf.c, `sent`).
//
// Right for any root, counts, datatypes and MPI_IN_PLACE at the root.  What is not significant at a rank is not looked at.
// A rank whose root is none knows no other rank's, and may be that itself.  So it sends an empty message to every rank,
// lets those come that are sent to it, and waits for nothing.
#pragma once

#include <mpi.h>

#include "argument_check.hpp"
#include "messages.hpp"

namespace headway::glue {

/// The arguments of one of the four operations.
struct RootedExchange {
    enum class Direction { to_root, from_root };

    Direction direction = Direction::to_root;
    int root = 0;
    bool in_place = false;  ///< the root's own message is where it belongs
    Block own{};            ///< this rank's message
    Blocks of_root{};       ///< at the root, each rank's

    /// Returns the exchange with empty blocks.
    [[nodiscard]] RootedExchange without_data() const { return {direction, root, true, {}, {}}; }
};

/// A status of MPI.
[[nodiscard]] int carry_out(const RootedExchange& exchange, const OwnCall& call) noexcept;

/// Copies only what the root sends to itself.
void copy_at_root(const RootedExchange& exchange, Messages& messages);

namespace rooted {

/// `own_fits`, `root_fits`: functions of the check, whether MPI takes a rank's own block, and the root's.  `is_aliased` is
/// asked at the root.
[[nodiscard]] auto checked(RootedExchange exchange, const auto& own_fits, const auto& root_fits,
                           const auto& is_aliased) {
    return CheckedCall{[=] { return exchange; },
                       [=](const ArgumentCheck& check) {
                           if (!check.is_rank(exchange.root)) return false;
                           if (!check.is_root(exchange.root)) return !exchange.in_place && own_fits(check);
                           return root_fits(check) && (exchange.in_place || own_fits(check));
                       },
                       [=](int rank) { return rank == exchange.root && is_aliased(); }};
}

[[nodiscard]] auto gathered(const Block& own, int root, const Blocks& of_root, const auto& root_fits,
                            const auto& is_aliased) {
    return checked({RootedExchange::Direction::to_root, root, own.data == MPI_IN_PLACE, own, of_root},
                   [=](const ArgumentCheck& check) { return check.can_send(own); }, root_fits, is_aliased);
}

[[nodiscard]] auto scattered(const Block& own, int root, const Blocks& of_root, const auto& root_fits,
                            const auto& is_aliased) {
    return checked({RootedExchange::Direction::from_root, root, own.data == MPI_IN_PLACE, own, of_root},
                   [=](const ArgumentCheck& check) { return check.can_receive(own); }, root_fits, is_aliased);
}

[[nodiscard]] inline auto gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm) {
    return gathered({sendbuf, sendcount, sendtype}, root, {recvbuf, recvcount, recvtype},
                    [=](const ArgumentCheck& check) { return check.can_receive({recvbuf, recvcount, recvtype}); },
                    [=] {
                        return sendtype == recvtype && sendcount == recvcount && sendcount != 0 &&
                               ArgumentCheck::are_the_same(sendbuf, Blocks(recvbuf, recvcount, recvtype).packed(root));
                    });
}

[[nodiscard]] inline auto gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                  const int* recvcounts, const int* displs, MPI_Datatype recvtype, int root,
                                  MPI_Comm) {
    return gathered({sendbuf, sendcount, sendtype}, root, {recvbuf, recvcounts, displs, recvtype},
                    [=](const ArgumentCheck& check) {
                        return recvbuf != MPI_IN_PLACE && check.can_receive(recvbuf, recvcounts, displs, recvtype);
                    },
                    [=] {
                        return sendtype == recvtype && sendcount != 0 && recvcounts[root] != 0 &&
                               ArgumentCheck::are_the_same(
                                   sendbuf, Blocks(recvbuf, recvcounts, displs, recvtype).packed(root));
                    });
}

[[nodiscard]] inline auto scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm) {
    return scattered({recvbuf, recvcount, recvtype}, root, {sendbuf, sendcount, sendtype},
                     [=](const ArgumentCheck& check) {
                         return sendbuf != MPI_IN_PLACE && check.can_send({sendbuf, sendcount, sendtype});
                     },
                     [=] {
                         return sendtype == recvtype && sendcount == recvcount && sendcount != 0 &&
                                ArgumentCheck::are_the_same(recvbuf, Blocks(sendbuf, sendcount, sendtype).packed(root));
                     });
}

[[nodiscard]] inline auto scatterv(const void* sendbuf, const int* sendcounts, const int* displs,
                                   MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                   int root, MPI_Comm) {
    return scattered({recvbuf, recvcount, recvtype}, root, {sendbuf, sendcounts, displs, sendtype},
                     [=](const ArgumentCheck& check) {
                         return sendbuf != MPI_IN_PLACE && check.can_send(sendbuf, sendcounts, displs, sendtype);
                     },
                     [=] {
                         return sendtype == recvtype && recvcount != 0 && sendcounts[root] != 0 &&
                                ArgumentCheck::are_the_same(
                                    recvbuf, Blocks(sendbuf, sendcounts, displs, sendtype).packed(root));
                     });
}

}  // namespace rooted
}  // namespace headway::glue

// SPDX-License-Identifier: MIT
// Our own algorithm for MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw, for when the plan names it: linear.  Every receive
// and every send is posted as soon as the window of messages.hpp has room, in the order of exchange_order.hpp.  It is
// right for any number of processes, counts, datatypes and MPI_IN_PLACE, for all three operations are seen as the same
// thing: one message to and one from every rank, which may have no bytes.
//
// In place each rank needs a copy of what it is about to overwrite: of in_place_window_bytes, or of one block if that is
// larger, which is what the MPI libraries need.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>

#include "argument_check.hpp"
#include "exchange_order.hpp"
#include "messages.hpp"
#include "piece_schedule.hpp"

namespace headway::glue {

/// The arguments of one of the three operations, by reference.
struct Exchange {
    bool in_place = false;
    Blocks sent{};      ///< what goes to each rank; not in place
    Blocks received{};  ///< where what comes from each rank goes to; in place, also what goes there

    [[nodiscard]] Block goes_to(int rank) const { return in_place ? received.of(rank) : sent.of(rank); }
};

inline constexpr std::uint64_t in_place_window_bytes = std::uint64_t{1} << 20;

/// A call whose sizes the ranks have told each other (told_sizes.hpp).
struct ToldCall {
    /// The bytes from every rank to every rank; null at all ranks: they have not told each other.
    const SizeTable* sizes = nullptr;
    PieceSchedule schedule{};
    /// All messages are planned to end after that time; 0: as soon as they can.
    std::chrono::nanoseconds duration{};
};

/// Who is where in a communicator.
struct OwnPlace {
    const ExchangeOrder* order = nullptr;
    const int* host_of_rank = nullptr;

    [[nodiscard]] bool is_on_one_host(int one, int other) const { return host_of_rank[one] == host_of_rank[other]; }
};

/// A status of MPI.
[[nodiscard]] int carry_out(const Exchange& exchange, const OwnPlace& place, const ToldCall& told,
                            const OwnCall& call) noexcept;

namespace detail {

/// Whether MPI takes the arguments of an alltoallv, or of an alltoallw, whose types are a list.
template <class Types>
[[nodiscard]] bool is_acceptable(const ArgumentCheck& check, const void* sendbuf, const int* sendcounts,
                                 const int* sdispls, Types sendtypes, void* recvbuf, const int* recvcounts,
                                 const int* rdispls, Types recvtypes) {
    if (recvbuf == MPI_IN_PLACE || !check.can_receive(recvbuf, recvcounts, rdispls, recvtypes)) return false;
    if (sendbuf == MPI_IN_PLACE) return true;
    const int own = check.place().rank;
    return check.can_send(sendbuf, sendcounts, sdispls, sendtypes) &&
           check.fit_together(Blocks(sendbuf, sendcounts, sdispls, sendtypes).of(own),
                              Blocks(recvbuf, recvcounts, rdispls, recvtypes).of(own));
}

}  // namespace detail

/// Each of these makes a CheckedCall of the operation's arguments.
[[nodiscard]] inline auto make_exchange(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        int recvcount, MPI_Datatype recvtype, MPI_Comm) {
    return CheckedCall{
        [=] {
            return Exchange{sendbuf == MPI_IN_PLACE, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}};
        },
        [=](const ArgumentCheck& check) {
            const Block sent{sendbuf, sendcount, sendtype}, received{recvbuf, recvcount, recvtype};
            return check.can_receive(received) &&
                   (sendbuf == MPI_IN_PLACE || (check.can_send(sent) && check.fit_together(sent, received)));
        },
        [=](int) {
            return sendtype == recvtype && sendcount == recvcount && sendcount != 0 &&
                   ArgumentCheck::are_the_same(sendbuf, recvbuf);
        }};
}

template <class Types>
[[nodiscard]] auto make_exchange(const void* sendbuf, const int* sendcounts, const int* sdispls, Types sendtypes,
                                 void* recvbuf, const int* recvcounts, const int* rdispls, Types recvtypes,
                                 MPI_Comm) {
    return CheckedCall{
        [=] {
            return Exchange{sendbuf == MPI_IN_PLACE, {sendbuf, sendcounts, sdispls, sendtypes},
                            {recvbuf, recvcounts, rdispls, recvtypes}};
        },
        [=](const ArgumentCheck& check) {
            return detail::is_acceptable(check, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                         recvtypes);
        },
        [=](int) {
            return sendtypes == recvtypes && sendcounts == recvcounts && ArgumentCheck::are_the_same(sendbuf, recvbuf);
        }};
}

}  // namespace headway::glue

// SPDX-License-Identifier: MIT
// Our own algorithm for MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw, for when the
// plan names it: linear.  Every receive and every send is posted as soon as the window
// of messages.hpp has room, in the order of exchange_order.hpp.  It is right for any
// number of processes, counts, datatypes and MPI_IN_PLACE, for all three operations are
// seen as the same thing: one message to and one from every rank.  Small blocks of an
// MPI_Alltoall between nodes of several ranks go by node_exchange.hpp instead.
//
// The messages go over a communicator that is ours alone.  A message of no bytes is
// neither sent nor received: both of its ends know that it is one.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "argument_check.hpp"
#include "exchange_order.hpp"
#include "messages.hpp"
#include "operation.hpp"

namespace headway::glue {

/// The arguments of one of the three operations, by reference: it costs nothing
/// until it is used.
class Exchange {
public:
    using BlockOf = std::function<Block(int rank)>;

    Exchange(bool in_place, BlockOf sent, BlockOf received)
        : in_place_(in_place), sent_(std::move(sent)), received_(std::move(received)) {}

    /// What goes to `rank`; not under MPI_IN_PLACE.
    [[nodiscard]] Block sent(int rank) const { return sent_(rank); }
    /// Where what comes from `rank` goes to; under MPI_IN_PLACE, also what goes there.
    [[nodiscard]] Block received(int rank) const { return received_(rank); }
    [[nodiscard]] bool in_place() const { return in_place_; }

private:
    bool in_place_;
    BlockOf sent_;
    BlockOf received_;
};

/// Of a call whose sizes the ranks have told each other (told_sizes.hpp).
struct ToldCall {
    /// In bytes, sizes[from][to]: of every rank to every rank; empty at all ranks: not told.
    std::vector<std::vector<std::uint64_t>> sizes{};
    /// Each message goes in so many (piecewise_exchange.hpp), the same number at all ranks.
    std::size_t pieces = 1;
    /// All messages are planned to end after that time; 0: as soon as they can.
    std::chrono::nanoseconds duration{};
};

/// A status of MPI.  `algorithm` is linear or node_aware.  What MPI_IN_PLACE, node_aware or told
/// sizes need of memory may throw std::bad_alloc.
[[nodiscard]] int carry_out(Algorithm algorithm, const Exchange& exchange,
                            const ExchangeOrder& order, const ToldCall& told, const OwnCall& call);

/// The `count` elements that are rank's of an array of as many for each.
[[nodiscard]] Block block_in_order(const void* start, int count, MPI_Datatype type, int rank);
/// Those that counts and displacements in elements name.
[[nodiscard]] Block block_as_listed(const void* start, const int* counts, const int* displs,
                                    MPI_Datatype type, int rank);
/// The same, with a type for each rank and displacements in bytes.
[[nodiscard]] Block block_as_listed(const void* start, const int* counts, const int* displs,
                                    const MPI_Datatype* types, int rank);

namespace detail {

[[nodiscard]] MPI_Aint extent_of(MPI_Datatype type);

}  // namespace detail

[[nodiscard]] inline auto make_exchange(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                        void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                        MPI_Comm) {
    return CheckedCall{
        [=] {
            return Exchange(
                sendbuf == MPI_IN_PLACE,
                [=](int rank) { return block_in_order(sendbuf, sendcount, sendtype, rank); },
                [=](int rank) { return block_in_order(recvbuf, recvcount, recvtype, rank); });
        },
        [=](const ArgumentCheck& check) {
            const Block sent{sendbuf, sendcount, sendtype};
            const Block received{recvbuf, recvcount, recvtype};
            return check.can_receive(received) &&
                   (sendbuf == MPI_IN_PLACE ||
                    (check.can_send(sent) && check.fit_together(sent, received) &&
                     check.are_apart(sendbuf, recvbuf)));
        }};
}

/// Both that have lists: of one type, or of a type for each rank.
template <class Types>
[[nodiscard]] auto make_exchange(const void* sendbuf, const int* sendcounts, const int* sdispls,
                                 Types sendtypes, void* recvbuf, const int* recvcounts,
                                 const int* rdispls, Types recvtypes, MPI_Comm) {
    const auto sent = [=](int rank) {
        return block_as_listed(sendbuf, sendcounts, sdispls, sendtypes, rank);
    };
    const auto received = [=](int rank) {
        return block_as_listed(recvbuf, recvcounts, rdispls, recvtypes, rank);
    };
    return CheckedCall{
        [=] { return Exchange(sendbuf == MPI_IN_PLACE, sent, received); },
        [=](const ArgumentCheck& check) {
            if (recvbuf == MPI_IN_PLACE ||
                !check.can_receive(recvbuf, recvcounts, rdispls, recvtypes))
                return false;
            if (sendbuf == MPI_IN_PLACE) return true;
            const int own = check.place().rank;
            return check.can_send(sendbuf, sendcounts, sdispls, sendtypes) &&
                   check.fit_together(sent(own), received(own)) &&
                   check.are_apart(sendbuf, recvbuf);
        }};
}

}  // namespace headway::glue

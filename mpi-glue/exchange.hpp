// SPDX-License-Identifier: MIT
// Our own algorithms for MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw, for when
// the plan names one.  Each is right for any number of processes, counts,
// datatypes and MPI_IN_PLACE, for all three are seen as the same thing: one
// message to and one from every rank.
//
//   linear         every receive and every send posted at once
//   pairwise_ring  steps; in step s to rank+s and from rank-s
//   pairwise_xor   steps; in step s an exchange with rank^s, if there is such a
//                  rank: a receive is posted, then the send, then both waited for,
//                  which is Nomura's A
//   alltoall_b     Nomura's B: all receives posted, then one send after the other,
//                  to rank^s, and the receives waited for at the end
//   grid           Steffenel's two phases (grid_exchange.cpp)
//
// They talk over a communicator that is theirs alone.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "operation.hpp"

namespace headway::glue {

/// One side of a message.
struct Block {
    const void* data = nullptr;
    int count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;

    [[nodiscard]] void* room() const { return const_cast<void*>(data); }
};

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

/// Which cluster each rank of the communicator is in; the same at all ranks.
using Clusters = std::vector<int>;

/// Told before each step of a stepwise algorithm, by every rank in each step; in
/// step s of a ring min(s, P - s) ranks send across any cut of the ring.
using StepObserver = std::function<void(int step)>;

/// A status of MPI.  `algorithm` is none of native; the memory that MPI_IN_PLACE
/// and the grid algorithm need may throw std::bad_alloc.
[[nodiscard]] int carry_out(Algorithm algorithm, const Exchange& exchange, MPI_Comm own,
                            const Clusters& clusters, const StepObserver& at_step);

namespace detail {

/// The address of element `at` of elements `extent` bytes long.
[[nodiscard]] inline const void* element(const void* start, MPI_Aint bytes) {
    return static_cast<const char*>(start) + bytes;
}
[[nodiscard]] MPI_Aint extent_of(MPI_Datatype type);

}  // namespace detail

[[nodiscard]] inline auto make_exchange(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                        void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                        MPI_Comm) {
    return [=] {
        const auto block = [](const void* start, int count, MPI_Datatype type) {
            const MPI_Aint bytes = count * detail::extent_of(type);
            return [=](int rank) { return Block{detail::element(start, rank * bytes), count, type}; };
        };
        const bool in_place = sendbuf == MPI_IN_PLACE;
        return Exchange(in_place, in_place ? Exchange::BlockOf() : block(sendbuf, sendcount, sendtype),
                        block(recvbuf, recvcount, recvtype));
    };
}

[[nodiscard]] inline auto make_exchange(const void* sendbuf, const int* sendcounts,
                                        const int* sdispls, MPI_Datatype sendtype, void* recvbuf,
                                        const int* recvcounts, const int* rdispls,
                                        MPI_Datatype recvtype, MPI_Comm) {
    return [=] {
        const auto block = [](const void* start, const int* counts, const int* displs,
                              MPI_Datatype type) {
            const MPI_Aint extent = detail::extent_of(type);
            return [=](int rank) {
                return Block{detail::element(start, displs[rank] * extent), counts[rank], type};
            };
        };
        const bool in_place = sendbuf == MPI_IN_PLACE;
        return Exchange(in_place,
                        in_place ? Exchange::BlockOf() : block(sendbuf, sendcounts, sdispls, sendtype),
                        block(recvbuf, recvcounts, rdispls, recvtype));
    };
}

[[nodiscard]] inline auto make_exchange(const void* sendbuf, const int* sendcounts,
                                        const int* sdispls, const MPI_Datatype* sendtypes,
                                        void* recvbuf, const int* recvcounts, const int* rdispls,
                                        const MPI_Datatype* recvtypes, MPI_Comm) {
    return [=] {
        const auto block = [](const void* start, const int* counts, const int* displs,
                              const MPI_Datatype* types) {
            return [=](int rank) {
                return Block{detail::element(start, displs[rank]), counts[rank], types[rank]};
            };
        };
        return Exchange(sendbuf == MPI_IN_PLACE, block(sendbuf, sendcounts, sdispls, sendtypes),
                        block(recvbuf, recvcounts, rdispls, recvtypes));
    };
}

}  // namespace headway::glue

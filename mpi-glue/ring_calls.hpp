// SPDX-License-Identifier: MIT
// The arguments of collectives as ring_exchange.hpp wants them: of each call the
// bytes of one step's message, which all ranks come to alike, and what carries it
// out.  0 bytes: not by a ring.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "helper.hpp"
#include "message_size.hpp"
#include "reduction.hpp"
#include "ring_exchange.hpp"
#include "rooted_exchange.hpp"

namespace headway::glue {

/// Functions: bytes of a step's message; carry out, of a Ring and a communicator.
template <class StepBytes, class CarryOut>
struct RingCall {
    StepBytes step_bytes;
    CarryOut carry_out;
};
template <class StepBytes, class CarryOut>
RingCall(StepBytes, CarryOut) -> RingCall<StepBytes, CarryOut>;

namespace ring {

using Bytes = std::uint64_t;

[[nodiscard]] inline Bytes part_of(Bytes bytes, MPI_Comm comm) {
    const int ranks = place_in(comm).ranks;
    return ranks > 0 ? bytes / static_cast<Bytes>(ranks) : 0;
}

/// What the ranks have on the average, which they all know.
[[nodiscard]] inline Bytes average(const int* counts, MPI_Datatype type, MPI_Comm comm) {
    const int ranks = place_in(comm).ranks;
    if (counts == nullptr || std::any_of(counts, counts + ranks, [](int count) { return count < 0; }))
        return 0;  // MPI will refuse that
    return part_of(message_bytes(std::accumulate(counts, counts + ranks, MPI_Count{0}), type), comm);
}

/// Or it stays the MPI library's: the result must be the same to the last bit.
[[nodiscard]] inline bool may_reorder(MPI_Op op, MPI_Datatype type) {
    return helper().settings().any_reduction_order ? is_arithmetic(op, type) : is_exact(op, type);
}

/// This rank's block to where everybody's go.
[[nodiscard]] inline int copy_own(const Block& from, const Block& to, const Ring& ring,
                                  MPI_Comm own) {
    return real::Sendrecv(from.data, from.count, from.type, ring.own_rank(), 0, to.room(), to.count,
                          to.type, ring.own_rank(), 0, own, MPI_STATUS_IGNORE);
}

[[nodiscard]] inline int gather_all(const void* sendbuf, const Block& own_block,
                                    const Exchange::BlockOf& of, const Ring& ring, MPI_Comm own) {
    int status = MPI_SUCCESS;
    if (sendbuf != MPI_IN_PLACE) status = copy_own(own_block, of(ring.own_rank()), ring, own);
    const int gathered = ring_allgather(ring, own, of);
    return status == MPI_SUCCESS ? gathered : status;
}

[[nodiscard]] inline auto allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm) {
    return RingCall{[=] { return message_bytes(recvcount, recvtype); },
                    [=](const Ring& ring, MPI_Comm own) {
                        return gather_all(sendbuf, {sendbuf, sendcount, sendtype},
                                          rooted::in_order(recvbuf, recvcount, recvtype), ring, own);
                    }};
}

[[nodiscard]] inline auto allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                     void* recvbuf, const int* recvcounts, const int* displs,
                                     MPI_Datatype recvtype, MPI_Comm comm) {
    return RingCall{[=] { return average(recvcounts, recvtype, comm); },
                    [=](const Ring& ring, MPI_Comm own) {
                        return gather_all(sendbuf, {sendbuf, sendcount, sendtype},
                                          rooted::as_listed(recvbuf, recvcounts, displs, recvtype),
                                          ring, own);
                    }};
}

[[nodiscard]] inline auto bcast(void* buffer, int count, MPI_Datatype datatype, int root,
                                MPI_Comm comm) {
    return RingCall{[=] { return part_of(message_bytes(count, datatype), comm); },
                    [=](const Ring& ring, MPI_Comm own) {
                        return chain_bcast(ring, own, root, {buffer, count, datatype});
                    }};
}

[[nodiscard]] inline Bytes reduced_part(int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return may_reorder(op, type) ? part_of(message_bytes(count, type), comm) : 0;
}

[[nodiscard]] inline auto reduce(const void* sendbuf, void* recvbuf, int count,
                                 MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
    return RingCall{[=] { return reduced_part(count, datatype, op, comm); },
                    [=](const Ring& ring, MPI_Comm own) {
                        const Reduction reduction(datatype, op);
                        const auto elements = static_cast<std::size_t>(count);
                        if (ring.own_rank() != root)  // which leaves it as it is
                            return chain_reduce(ring, own, root, reduction,
                                                const_cast<void*>(sendbuf), elements);
                        if (sendbuf != MPI_IN_PLACE)
                            std::memcpy(recvbuf, sendbuf, elements * reduction.element_bytes);
                        return chain_reduce(ring, own, root, reduction, recvbuf, elements);
                    }};
}

[[nodiscard]] inline auto allreduce(const void* sendbuf, void* recvbuf, int count,
                                    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
    return RingCall{[=] { return reduced_part(count, datatype, op, comm); },
                    [=](const Ring& ring, MPI_Comm own) {
                        const Reduction reduction(datatype, op);
                        const auto elements = static_cast<std::size_t>(count);
                        if (sendbuf != MPI_IN_PLACE)
                            std::memcpy(recvbuf, sendbuf, elements * reduction.element_bytes);
                        return ring_allreduce(ring, own, reduction, recvbuf, elements);
                    }};
}

[[nodiscard]] inline auto reduce_scatter(const void* sendbuf, void* recvbuf, const int* recvcounts,
                                         MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
    return RingCall{[=] { return may_reorder(op, datatype) ? average(recvcounts, datatype, comm) : 0; },
                    [=](const Ring& ring, MPI_Comm own) {
                        ReducedBlocks blocks{{0}};
                        for (int rank = 0; rank < ring.ranks(); ++rank)
                            blocks.first.push_back(blocks.first.back() +
                                                   static_cast<std::size_t>(recvcounts[rank]));
                        return ring_reduce_scatter(ring, own, {datatype, op},
                                                   sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf,
                                                   blocks, recvbuf);
                    }};
}

[[nodiscard]] inline auto reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount,
                                               MPI_Datatype datatype, MPI_Op op, MPI_Comm) {
    return RingCall{
        [=] { return may_reorder(op, datatype) ? message_bytes(recvcount, datatype) : 0; },
        [=](const Ring& ring, MPI_Comm own) {
            ReducedBlocks blocks{{0}};
            for (int rank = 0; rank < ring.ranks(); ++rank)
                blocks.first.push_back(blocks.first.back() + static_cast<std::size_t>(recvcount));
            return ring_reduce_scatter(ring, own, {datatype, op},
                                       sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, blocks, recvbuf);
        }};
}

}  // namespace ring
}  // namespace headway::glue

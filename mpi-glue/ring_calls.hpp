// SPDX-License-Identifier: MIT
// The arguments of collectives as ring_exchange.hpp wants them: of each call the
// bytes of one step's message, which all ranks come to alike; whether MPI would take
// the arguments; and what carries it out.  0 bytes: not by a ring.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "helper.hpp"
#include "host_operand.hpp"
#include "message_size.hpp"
#include "reduction.hpp"
#include "ring_exchange.hpp"
#include "rooted_exchange.hpp"

namespace headway::glue {

/// Functions: bytes of a step's message; of an ArgumentCheck; carry out, of a HostRing
/// and an OwnCall.
template <class StepBytes, class IsAcceptable, class CarryOut>
struct RingCall {
    StepBytes step_bytes;
    IsAcceptable is_acceptable;
    CarryOut carry_out;
};
template <class StepBytes, class IsAcceptable, class CarryOut>
RingCall(StepBytes, IsAcceptable, CarryOut) -> RingCall<StepBytes, IsAcceptable, CarryOut>;

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

[[nodiscard]] inline auto allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm) {
    const Block own{sendbuf, sendcount, sendtype};
    return RingCall{
        [=] { return message_bytes(recvcount, recvtype); },
        [=](const ArgumentCheck& check) {
            return check.can_receive({recvbuf, recvcount, recvtype}) &&
                   (sendbuf == MPI_IN_PLACE ||
                    (check.can_send(own) && check.are_apart(sendbuf, recvbuf)));
        },
        [=](const HostRing& ring, const OwnCall& call) {
            return ring_allgather(ring, call, sendbuf == MPI_IN_PLACE ? nullptr : &own,
                                  rooted::in_order(recvbuf, recvcount, recvtype));
        }};
}

[[nodiscard]] inline auto allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                     void* recvbuf, const int* recvcounts, const int* displs,
                                     MPI_Datatype recvtype, MPI_Comm comm) {
    const Block own{sendbuf, sendcount, sendtype};
    return RingCall{
        [=] { return average(recvcounts, recvtype, comm); },
        [=](const ArgumentCheck& check) {
            return recvbuf != MPI_IN_PLACE &&
                   check.can_receive(recvbuf, recvcounts, displs, recvtype) &&
                   (sendbuf == MPI_IN_PLACE ||
                    (check.can_send(own) && check.are_apart(sendbuf, recvbuf)));
        },
        [=](const HostRing& ring, const OwnCall& call) {
            return ring_allgather(ring, call, sendbuf == MPI_IN_PLACE ? nullptr : &own,
                                  rooted::as_listed(recvbuf, recvcounts, displs, recvtype));
        }};
}

/// Data whose type is not how they lie in memory are packed, which MPI counts in an
/// int.  Types may differ between ranks, but all come to the same number of bytes.
[[nodiscard]] inline Bytes segmented(Bytes bytes, MPI_Comm comm) {
    return bytes <= INT_MAX ? part_of(bytes, comm) : 0;
}

[[nodiscard]] inline auto bcast(void* buffer, int count, MPI_Datatype datatype, int root,
                                MPI_Comm comm) {
    return RingCall{[=] { return segmented(message_bytes(count, datatype), comm); },
                    [=](const ArgumentCheck& check) {
                        return check.is_rank(root) && check.can_receive({buffer, count, datatype});
                    },
                    [=](const HostRing& ring, const OwnCall& call) {
                        return ring_bcast(ring, call, root, {buffer, count, datatype});
                    }};
}

[[nodiscard]] inline Bytes reduced_part(int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return may_reorder(op, type) ? part_of(message_bytes(count, type), comm) : 0;
}

/// What a rank has in a reduction whose result it gets.
[[nodiscard]] inline bool are_acceptable(const ArgumentCheck& check, const Block& own,
                                         void* recvbuf) {
    return check.can_receive({recvbuf, own.count, own.type}) &&
           (own.data == MPI_IN_PLACE ||
            (check.can_send(own) && check.are_apart(own.data, recvbuf)));
}

[[nodiscard]] inline auto reduce(const void* sendbuf, void* recvbuf, int count,
                                 MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
    return RingCall{[=] { return reduced_part(count, datatype, op, comm); },
                    [=](const ArgumentCheck& check) {
                        const Block own{sendbuf, count, datatype};
                        if (!check.is_rank(root)) return false;
                        return check.is_root(root)
                                   ? are_acceptable(check, own, recvbuf)
                                   : sendbuf != MPI_IN_PLACE && check.can_send(own);
                    },
                    [=](const HostRing& ring, const OwnCall& call) {
                        const Reduction reduction(datatype, op);
                        const auto elements = static_cast<std::size_t>(count);
                        const bool is_root = ring.own_rank() == root;
                        return on_host(
                            {sendbuf, elements, reduction},
                            {is_root ? recvbuf : nullptr, elements, reduction}, ring.own_rank(), call,
                            [&](void* given, void* result) {
                                if (!is_root)  // which leaves it as it is
                                    return ring_reduce(ring, call, root, reduction, given, elements);
                                if (given != MPI_IN_PLACE)
                                    std::memcpy(result, given, elements * reduction.element_bytes);
                                return ring_reduce(ring, call, root, reduction, result, elements);
                            });
                    }};
}

[[nodiscard]] inline auto allreduce(const void* sendbuf, void* recvbuf, int count,
                                    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
    return RingCall{[=] { return reduced_part(count, datatype, op, comm); },
                    [=](const ArgumentCheck& check) {
                        return are_acceptable(check, {sendbuf, count, datatype}, recvbuf);
                    },
                    [=](const HostRing& ring, const OwnCall& call) {
                        const Reduction reduction(datatype, op);
                        const auto elements = static_cast<std::size_t>(count);
                        return on_host(
                            {sendbuf, elements, reduction}, {recvbuf, elements, reduction},
                            ring.own_rank(), call, [&](void* given, void* result) {
                                if (given != MPI_IN_PLACE)
                                    std::memcpy(result, given, elements * reduction.element_bytes);
                                return ring_allreduce(ring, call, reduction, result, elements);
                            });
                    }};
}

/// `count_of`: a function of the rank, how many elements of the result are its own.
[[nodiscard]] int scatter_reduced(const HostRing& ring, const OwnCall& call, const Reduction& reduction,
                                  const void* sendbuf, void* recvbuf, const auto& count_of) {
    ReducedBlocks blocks{{0}};
    for (int rank = 0; rank < ring.ranks(); ++rank)
        blocks.first.push_back(blocks.first.back() + static_cast<std::size_t>(count_of(rank)));
    const std::size_t all = blocks.first.back();
    const std::size_t own =
        sendbuf == MPI_IN_PLACE ? all : static_cast<std::size_t>(count_of(ring.own_rank()));
    return on_host({sendbuf, all, reduction}, {recvbuf, own, reduction}, ring.own_rank(), call,
                   [&](void* given, void* result) {
                       return ring_reduce_scatter(ring, call, reduction,
                                                  given == MPI_IN_PLACE ? result : given, blocks,
                                                  result);
                   });
}

[[nodiscard]] inline auto reduce_scatter(const void* sendbuf, void* recvbuf, const int* recvcounts,
                                         MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
    return RingCall{[=] { return may_reorder(op, datatype) ? average(recvcounts, datatype, comm) : 0; },
                    [=](const ArgumentCheck& check) {
                        const Block result{recvbuf, recvcounts[check.place().rank], datatype};
                        return check.can_receive(result) &&
                               (sendbuf == MPI_IN_PLACE ||
                                (check.can_send({sendbuf, 1, datatype}) &&
                                 check.are_apart(sendbuf, recvbuf)));
                    },
                    [=](const HostRing& ring, const OwnCall& call) {
                        return scatter_reduced(ring, call, {datatype, op}, sendbuf, recvbuf,
                                               [=](int rank) { return recvcounts[rank]; });
                    }};
}

[[nodiscard]] inline auto reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount,
                                               MPI_Datatype datatype, MPI_Op op, MPI_Comm) {
    return RingCall{
        [=] { return may_reorder(op, datatype) ? message_bytes(recvcount, datatype) : 0; },
        [=](const ArgumentCheck& check) {
            return are_acceptable(check, {sendbuf, recvcount, datatype}, recvbuf);
        },
        [=](const HostRing& ring, const OwnCall& call) {
            return scatter_reduced(ring, call, {datatype, op}, sendbuf, recvbuf,
                                   [=](int) { return recvcount; });
        }};
}

}  // namespace ring
}  // namespace headway::glue

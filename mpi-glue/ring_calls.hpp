// SPDX-License-Identifier: MIT
// The arguments of collectives as ring_exchange.hpp wants them, each as a RingCall: the bytes of one step's message by
// which the plan is asked for, whether MPI takes the arguments, and what carries it out.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "able_algorithm.hpp"
#include "message_size.hpp"
#include "ring_exchange.hpp"

namespace headway::glue {

/// Functions: bytes of a step's message; those of CheckedCall; carry out, of a HostRing, an OwnCall, whether this rank's
/// arguments cannot be used, and a place for `missing` of ring_allgather().
template <class StepBytes, class IsAcceptable, class IsAliased, class CarryOut>
struct RingCall {
    StepBytes step_bytes;
    IsAcceptable is_acceptable;
    IsAliased is_aliased;
    CarryOut carry_out;
};
template <class StepBytes, class IsAcceptable, class IsAliased, class CarryOut>
RingCall(StepBytes, IsAcceptable, IsAliased, CarryOut) -> RingCall<StepBytes, IsAcceptable, IsAliased, CarryOut>;

namespace ring {

using Bytes = std::uint64_t;

[[nodiscard]] inline Bytes part_of(Bytes bytes, MPI_Comm comm) {
    const int ranks = place_in(comm).ranks;
    return ranks > 0 ? bytes / static_cast<Bytes>(ranks) : 0;
}

/// Returns the mean of the ranks' bytes.
[[nodiscard]] inline Bytes average(const int* counts, MPI_Datatype type, MPI_Comm comm) {
    const int ranks = place_in(comm).ranks;
    if (counts == nullptr || std::any_of(counts, counts + ranks, [](int count) { return count < 0; })) return 0;
    return part_of(message_bytes(std::accumulate(counts, counts + ranks, MPI_Count{0}), type), comm);
}

[[nodiscard]] auto gathering(const Gathering& arguments, const auto& step_bytes, const auto& is_acceptable,
                             const auto& is_aliased) {
    return RingCall{step_bytes, is_acceptable, is_aliased,
                    [=](const HostRing& ring, const OwnCall& call, bool is_absent, bool* missing) {
                        Gathering taken = arguments;
                        if (is_absent) taken = {true, {}, {}, true};
                        return ring_allgather(ring, call, taken, missing);
                    }};
}

[[nodiscard]] inline auto allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                    int recvcount, MPI_Datatype recvtype, MPI_Comm) {
    const bool in_place = sendbuf == MPI_IN_PLACE;
    const Block own{sendbuf, sendcount, sendtype};
    return gathering({in_place, own, {recvbuf, recvcount, recvtype}}, [=] { return message_bytes(recvcount, recvtype); },
                     [=](const ArgumentCheck& check) {
                         return check.can_receive({recvbuf, recvcount, recvtype}) && (in_place || check.can_send(own));
                     },
                     [=](int rank) {
                         return sendtype == recvtype && sendcount == recvcount && sendcount != 0 &&
                                ArgumentCheck::are_the_same(sendbuf, Blocks(recvbuf, recvcount, recvtype).packed(rank));
                     });
}

[[nodiscard]] inline auto allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                     const int* recvcounts, const int* displs, MPI_Datatype recvtype, MPI_Comm comm) {
    const bool in_place = sendbuf == MPI_IN_PLACE;
    const Block own{sendbuf, sendcount, sendtype};
    return gathering({in_place, own, {recvbuf, recvcounts, displs, recvtype}},
                     [=] { return average(recvcounts, recvtype, comm); },
                     [=](const ArgumentCheck& check) {
                         return recvbuf != MPI_IN_PLACE && check.can_receive(recvbuf, recvcounts, displs, recvtype) &&
                                (in_place || check.can_send(own));
                     },
                     [=](int rank) {
                         return sendtype == recvtype && sendcount != 0 && recvcounts[rank] != 0 &&
                                ArgumentCheck::are_the_same(
                                    sendbuf, Blocks(recvbuf, recvcounts, displs, recvtype).packed(rank));
                     });
}

[[nodiscard]] inline auto bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
    return RingCall{[=] { return part_of(message_bytes(count, datatype), comm); },
                    [=](const ArgumentCheck& check) {
                        return check.is_rank(root) && check.can_receive({buffer, count, datatype});
                    },
                    [](int) { return false; },
                    [=](const HostRing& ring, const OwnCall& call, bool is_absent, bool*) {
                        const std::uint64_t long_from_bytes = own_from_bytes * static_cast<std::uint64_t>(call.ranks);
                        return ring_bcast(ring, call, {{buffer, count, datatype}, root, is_absent}, long_from_bytes);
                    }};
}

}  // namespace ring
}  // namespace headway::glue

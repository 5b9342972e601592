// SPDX-License-Identifier: MIT
// How large the messages of a collective are, from its arguments: the bytes
// from one rank to another, where they differ the most that this rank knows of.
// A function for each operation, with the operation's own arguments.
//
// Only what is significant at this rank is looked at: under MPI_IN_PLACE and
// away from the root many arguments may hold anything.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "message_size.hpp"
#include "neighbours.hpp"

namespace headway::glue::call_sizes {

using Bytes = std::uint64_t;

[[nodiscard]] inline bool is_root(int root, MPI_Comm comm) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return rank == root;
}

// An all-to-all receives from each rank as much as it sends to each.
inline Bytes alltoall(const void*, int, MPI_Datatype, void*, int recvcount,
                      MPI_Datatype recvtype, MPI_Comm) {
    return message_bytes(recvcount, recvtype);
}

// The ranks need not come to the same number, and do not talk about it.
inline Bytes alltoallv(const void* sendbuf, const int* sendcounts, const int*,
                       MPI_Datatype sendtype, void*, const int* recvcounts, const int*,
                       MPI_Datatype recvtype, MPI_Comm comm) {
    return sendbuf == MPI_IN_PLACE ? largest_message(comm, recvcounts, recvtype)
                                   : largest_message(comm, sendcounts, sendtype);
}

inline Bytes alltoallw(const void* sendbuf, const int* sendcounts, const int*,
                       const MPI_Datatype* sendtypes, void*, const int* recvcounts, const int*,
                       const MPI_Datatype* recvtypes, MPI_Comm comm) {
    return sendbuf == MPI_IN_PLACE ? largest_message(comm, recvcounts, recvtypes)
                                   : largest_message(comm, sendcounts, sendtypes);
}

inline Bytes allgather(const void*, int, MPI_Datatype, void*, int recvcount,
                       MPI_Datatype recvtype, MPI_Comm) {
    return message_bytes(recvcount, recvtype);
}

inline Bytes allgatherv(const void*, int, MPI_Datatype, void*, const int* recvcounts,
                        const int*, MPI_Datatype recvtype, MPI_Comm comm) {
    return largest_block(comm, recvcounts, recvtype);
}

inline Bytes gather(const void*, int sendcount, MPI_Datatype sendtype, void*, int recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm) {
    return is_root(root, comm) ? message_bytes(recvcount, recvtype)
                               : message_bytes(sendcount, sendtype);
}

inline Bytes gatherv(const void*, int sendcount, MPI_Datatype sendtype, void*,
                     const int* recvcounts, const int*, MPI_Datatype recvtype, int root,
                     MPI_Comm comm) {
    return is_root(root, comm) ? largest_message(comm, recvcounts, recvtype)
                               : message_bytes(sendcount, sendtype);
}

inline Bytes scatter(const void*, int sendcount, MPI_Datatype sendtype, void*, int recvcount,
                     MPI_Datatype recvtype, int root, MPI_Comm comm) {
    return is_root(root, comm) ? message_bytes(sendcount, sendtype)
                               : message_bytes(recvcount, recvtype);
}

inline Bytes scatterv(const void*, const int* sendcounts, const int*, MPI_Datatype sendtype,
                      void*, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
    return is_root(root, comm) ? largest_message(comm, sendcounts, sendtype)
                               : message_bytes(recvcount, recvtype);
}

inline Bytes bcast(void*, int count, MPI_Datatype datatype, int, MPI_Comm) {
    return message_bytes(count, datatype);
}

inline Bytes reduce(const void*, void*, int count, MPI_Datatype datatype, MPI_Op, int, MPI_Comm) {
    return message_bytes(count, datatype);
}

inline Bytes allreduce(const void*, void*, int count, MPI_Datatype datatype, MPI_Op, MPI_Comm) {
    return message_bytes(count, datatype);
}

inline Bytes reduce_scatter(const void*, void*, const int* recvcounts, MPI_Datatype datatype,
                            MPI_Op, MPI_Comm comm) {
    return largest_message(comm, recvcounts, datatype);
}

inline Bytes reduce_scatter_block(const void*, void*, int recvcount, MPI_Datatype datatype,
                                  MPI_Op, MPI_Comm) {
    return message_bytes(recvcount, datatype);
}

inline Bytes neighbor_allgather(const void*, int sendcount, MPI_Datatype sendtype, void*, int,
                                MPI_Datatype, MPI_Comm) {
    return message_bytes(sendcount, sendtype);
}

inline Bytes neighbor_allgatherv(const void*, int sendcount, MPI_Datatype sendtype, void*,
                                 const int*, const int*, MPI_Datatype, MPI_Comm) {
    return message_bytes(sendcount, sendtype);
}

inline Bytes neighbor_alltoall(const void*, int sendcount, MPI_Datatype sendtype, void*, int,
                               MPI_Datatype, MPI_Comm) {
    return message_bytes(sendcount, sendtype);
}

inline Bytes neighbor_alltoallv(const void*, const int* sendcounts, const int*,
                                MPI_Datatype sendtype, void*, const int*, const int*,
                                MPI_Datatype, MPI_Comm comm) {
    Bytes largest = 0;
    const std::size_t neighbours = destinations_of(comm).size();
    for (std::size_t at = 0; at < neighbours; ++at)
        largest = std::max(largest, message_bytes(sendcounts[at], sendtype));
    return largest;
}

inline Bytes neighbor_alltoallw(const void*, const int* sendcounts, const MPI_Aint*,
                                const MPI_Datatype* sendtypes, void*, const int*, const MPI_Aint*,
                                const MPI_Datatype*, MPI_Comm comm) {
    Bytes largest = 0;
    const std::size_t neighbours = destinations_of(comm).size();
    for (std::size_t at = 0; at < neighbours; ++at)
        largest = std::max(largest, message_bytes(sendcounts[at], sendtypes[at]));
    return largest;
}

}  // namespace headway::glue::call_sizes

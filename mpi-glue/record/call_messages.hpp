// SPDX-License-Identifier: MIT
// Who gets how much from this rank in a collective, from its arguments: the
// messages as the operation means them, each from its source to its destination.
// What the MPI library makes of them (trees, rings) it does not tell; a recording
// of the messages themselves needs the library's own monitoring.
//
// A function for each operation, with the operation's own arguments, as in
// call_sizes.hpp, and a sink that is told rank and bytes.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>

#include "call_sizes.hpp"

namespace headway::glue {

/// (rank in the communicator, bytes)
using MessageSink = std::function<void(int, std::uint64_t)>;

namespace call_messages {

using call_sizes::is_root;

inline void to_all(MPI_Comm comm, std::uint64_t bytes, const MessageSink& sink) {
    const Place own = place_in(comm);
    for (int rank = 0; rank < own.ranks; ++rank) {
        if (rank != own.rank) sink(rank, bytes);
    }
}

inline void to_each(MPI_Comm comm, const int* counts, MPI_Datatype type, const MessageSink& sink) {
    const Place own = place_in(comm);
    for (int rank = 0; rank < own.ranks; ++rank) {
        if (rank != own.rank) sink(rank, message_bytes(counts[rank], type));
    }
}

inline void to_each(MPI_Comm comm, const int* counts, const MPI_Datatype* types,
                    const MessageSink& sink) {
    const Place own = place_in(comm);
    for (int rank = 0; rank < own.ranks; ++rank) {
        if (rank != own.rank) sink(rank, message_bytes(counts[rank], types[rank]));
    }
}

template <class BytesOf>
void to_neighbours(MPI_Comm comm, const BytesOf& bytes_of, const MessageSink& sink) {
    const auto ranks = destinations_of(comm);
    for (std::size_t at = 0; at < ranks.size(); ++at) sink(ranks[at], bytes_of(at));
}

inline void alltoall(const void*, int, MPI_Datatype, void*, int recvcount,
                     MPI_Datatype recvtype, MPI_Comm comm, const MessageSink& sink) {
    to_all(comm, message_bytes(recvcount, recvtype), sink);
}

inline void alltoallv(const void* sendbuf, const int* sendcounts, const int*,
                      MPI_Datatype sendtype, void*, const int* recvcounts, const int*,
                      MPI_Datatype recvtype, MPI_Comm comm, const MessageSink& sink) {
    if (sendbuf == MPI_IN_PLACE) {
        to_each(comm, recvcounts, recvtype, sink);
    } else {
        to_each(comm, sendcounts, sendtype, sink);
    }
}

inline void alltoallw(const void* sendbuf, const int* sendcounts, const int*,
                      const MPI_Datatype* sendtypes, void*, const int* recvcounts, const int*,
                      const MPI_Datatype* recvtypes, MPI_Comm comm, const MessageSink& sink) {
    if (sendbuf == MPI_IN_PLACE) {
        to_each(comm, recvcounts, recvtypes, sink);
    } else {
        to_each(comm, sendcounts, sendtypes, sink);
    }
}

inline void allgather(const void*, int, MPI_Datatype, void*, int recvcount,
                      MPI_Datatype recvtype, MPI_Comm comm, const MessageSink& sink) {
    to_all(comm, message_bytes(recvcount, recvtype), sink);
}

inline void allgatherv(const void*, int, MPI_Datatype, void*, const int* recvcounts, const int*,
                       MPI_Datatype recvtype, MPI_Comm comm, const MessageSink& sink) {
    to_all(comm, message_bytes(recvcounts[place_in(comm).rank], recvtype), sink);
}

inline void gather(const void*, int sendcount, MPI_Datatype sendtype, void*, int, MPI_Datatype,
                   int root, MPI_Comm comm, const MessageSink& sink) {
    if (!is_root(root, comm)) sink(root, message_bytes(sendcount, sendtype));
}

inline void gatherv(const void*, int sendcount, MPI_Datatype sendtype, void*, const int*,
                    const int*, MPI_Datatype, int root, MPI_Comm comm, const MessageSink& sink) {
    if (!is_root(root, comm)) sink(root, message_bytes(sendcount, sendtype));
}

inline void scatter(const void*, int sendcount, MPI_Datatype sendtype, void*, int, MPI_Datatype,
                    int root, MPI_Comm comm, const MessageSink& sink) {
    if (is_root(root, comm)) to_all(comm, message_bytes(sendcount, sendtype), sink);
}

inline void scatterv(const void*, const int* sendcounts, const int*, MPI_Datatype sendtype,
                     void*, int, MPI_Datatype, int root, MPI_Comm comm, const MessageSink& sink) {
    if (is_root(root, comm)) to_each(comm, sendcounts, sendtype, sink);
}

inline void bcast(void*, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  const MessageSink& sink) {
    if (is_root(root, comm)) to_all(comm, message_bytes(count, datatype), sink);
}

inline void reduce(const void*, void*, int count, MPI_Datatype datatype, MPI_Op, int root,
                   MPI_Comm comm, const MessageSink& sink) {
    if (!is_root(root, comm)) sink(root, message_bytes(count, datatype));
}

// Counts it as a reduction to rank 0 and a broadcast from there.
inline void allreduce(const void*, void*, int count, MPI_Datatype datatype, MPI_Op, MPI_Comm comm,
                      const MessageSink& sink) {
    const std::uint64_t bytes = message_bytes(count, datatype);
    if (is_root(0, comm)) {
        to_all(comm, bytes, sink);
    } else {
        sink(0, bytes);
    }
}

inline void reduce_scatter(const void*, void*, const int* recvcounts, MPI_Datatype datatype,
                           MPI_Op, MPI_Comm comm, const MessageSink& sink) {
    to_each(comm, recvcounts, datatype, sink);
}

inline void reduce_scatter_block(const void*, void*, int recvcount, MPI_Datatype datatype, MPI_Op,
                                 MPI_Comm comm, const MessageSink& sink) {
    to_all(comm, message_bytes(recvcount, datatype), sink);
}

inline void neighbor_allgather(const void*, int sendcount, MPI_Datatype sendtype, void*, int,
                               MPI_Datatype, MPI_Comm comm, const MessageSink& sink) {
    to_neighbours(comm, [&](std::size_t) { return message_bytes(sendcount, sendtype); }, sink);
}

inline void neighbor_allgatherv(const void*, int sendcount, MPI_Datatype sendtype, void*,
                                const int*, const int*, MPI_Datatype, MPI_Comm comm,
                                const MessageSink& sink) {
    to_neighbours(comm, [&](std::size_t) { return message_bytes(sendcount, sendtype); }, sink);
}

inline void neighbor_alltoall(const void*, int sendcount, MPI_Datatype sendtype, void*, int,
                              MPI_Datatype, MPI_Comm comm, const MessageSink& sink) {
    to_neighbours(comm, [&](std::size_t) { return message_bytes(sendcount, sendtype); }, sink);
}

inline void neighbor_alltoallv(const void*, const int* sendcounts, const int*,
                               MPI_Datatype sendtype, void*, const int*, const int*, MPI_Datatype,
                               MPI_Comm comm, const MessageSink& sink) {
    to_neighbours(
        comm, [&](std::size_t at) { return message_bytes(sendcounts[at], sendtype); }, sink);
}

inline void neighbor_alltoallw(const void*, const int* sendcounts, const MPI_Aint*,
                               const MPI_Datatype* sendtypes, void*, const int*, const MPI_Aint*,
                               const MPI_Datatype*, MPI_Comm comm, const MessageSink& sink) {
    to_neighbours(
        comm, [&](std::size_t at) { return message_bytes(sendcounts[at], sendtypes[at]); }, sink);
}

}  // namespace call_messages
}  // namespace headway::glue

// SPDX-License-Identifier: MIT
// The wrapped functions that follow no pattern; `by_hand` in functions.def.
// Arguments as MPI has them.
#pragma once

#include <mpi.h>

namespace headway::glue::by_hand {

int Init(int* argc, char*** argv);
int Init_thread(int* argc, char*** argv, int required, int* provided);

// Requests: see pending_requests.hpp.
int Start(MPI_Request* request);
int Startall(int count, MPI_Request* requests);
int Request_free(MPI_Request* request);
int Wait(MPI_Request* request, MPI_Status* status);
int Waitall(int count, MPI_Request* requests, MPI_Status* statuses);
int Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status);
int Waitsome(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses);
int Test(MPI_Request* request, int* flag, MPI_Status* status);
int Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int Testsome(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses);

// Attributes: see attributes.hpp.
int Comm_create_keyval(MPI_Comm_copy_attr_function* copy_fn,
                       MPI_Comm_delete_attr_function* delete_fn, int* keyval, void* extra_state);
int Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag);
int Comm_set_attr(MPI_Comm comm, int keyval, void* value);
int Attr_get(MPI_Comm comm, int keyval, void* value, int* flag);
int Attr_put(MPI_Comm comm, int keyval, void* value);

/// Marks a phase: see recorder.hpp and pattern_player.hpp.
int Pcontrol(int level);

/// Under MPI_IN_PLACE these two of MPI_Alltoall mean nothing and may hold
/// anything, but Open MPI's dynamic rules look at them all the same.
void settle_in_place(const void* sendbuf, auto& sendcount, MPI_Datatype& sendtype, auto recvcount,
                     MPI_Datatype recvtype) {
    if (sendbuf != MPI_IN_PLACE) return;
    sendcount = recvcount;
    sendtype = recvtype;
}

}  // namespace headway::glue::by_hand

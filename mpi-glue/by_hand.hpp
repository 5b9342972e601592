// SPDX-License-Identifier: MIT
// The wrapped functions that follow no pattern; `by_hand` in functions.def.
// Arguments as MPI has them.
#pragma once

#include <mpi.h>

#include "mpi_library.hpp"

namespace headway::glue::by_hand {

int Init(int* argc, char*** argv);
int Init_thread(int* argc, char*** argv, int required, int* provided);

/// See OwnAlgorithms::expect_jumps().
int Comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* handler);

// A program's own rate: see sending_rate.hpp.
int Comm_set_info(MPI_Comm comm, MPI_Info info);
int Comm_get_info(MPI_Comm comm, MPI_Info* info);
int Comm_free(MPI_Comm* comm);
int Comm_disconnect(MPI_Comm* comm);

/// Marks a phase: see pattern_player.hpp.
int Pcontrol(int level);

/// Under MPI_IN_PLACE these two of MPI_Alltoall mean nothing and may hold
/// anything, but Open MPI's dynamic rules look at them all the same.
inline void settle_in_place(const void* sendbuf, int& sendcount, MPI_Datatype& sendtype, int recvcount,
                            MPI_Datatype recvtype) {
    if (!is_open_mpi() || sendbuf != MPI_IN_PLACE) return;
    sendcount = recvcount;
    sendtype = recvtype;
}

}  // namespace headway::glue::by_hand

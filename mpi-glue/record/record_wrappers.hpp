// SPDX-License-Identifier: MIT
// What the generated wrappers of the library that records are made of, and those that
// follow no pattern; `recorded` in functions.def.  Arguments as MPI has them.
#pragma once

#include <mpi.h>

#include "mpi_library.hpp"
#include "operation.hpp"
#include "real.hpp"
#include "record/call_messages.hpp"
#include "record/recorder.hpp"
#include "wrapper_table.hpp"

namespace headway::glue {

/// A collective that is counted when it is started.
int prepared_collective(Operation operation, MPI_Comm communicator, const MPI_Request* request,
                        const auto& messages, const auto& native) {
    const int status = native();
    if (status == MPI_SUCCESS) recorder().prepared(*request, operation, communicator, messages);
    return status;
}

namespace by_hand {

int Init(int* argc, char*** argv);
int Init_thread(int* argc, char*** argv, int required, int* provided);
int Start(MPI_Request* request);
int Startall(int count, MPI_Request* requests);
int Request_free(MPI_Request* request);
/// Marks a phase.
int Pcontrol(int level);

}  // namespace by_hand
}  // namespace headway::glue

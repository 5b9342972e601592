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

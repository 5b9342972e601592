// SPDX-License-Identifier: Apache-2.0
// SimGrid's time-independent traces (SMPI replay) as PlogPT programs: one file
// for all ranks or one for each.  A line is RANK ACTION ARGUMENTS:
//
//   0 init
//   0 isend 1 7 1000          to rank 1, tag 7, 1000 elements; 5th: their type
//   0 irecv 1 7 1000
//   0 wait 0 1 7              of the message from 0 to 1 with tag 7
//   0 waitall
//   0 send, recv              as isend and irecv, with the wait
//   0 barrier                 by dissemination, of 0 bytes
//   0 bcast 1000 [ROOT]       along a binomial tree
//   0 reduce 1000 5 [ROOT]    the same tree upwards; allreduce: and down again
//   0 alltoall 10 10          everybody to everybody, rank + 1 first
//   0 alltoallv ...
//   0 gather 10 10 [ROOT]     straight to the root; scatter: straight from it
//   0 allgather 10 10         around a ring
//
// Collectives become the messages above, of MPI_COMM_WORLD.  Elements are bytes
// after `init` and doubles after `init 1`, unless their type is given.  compute,
// sleep and test take no time in PlogPT and are left out.  Other actions are
// refused by name.
#pragma once

#include <span>

#include "formats/file_mistakes.hpp"
#include "formats/program_builder.hpp"

namespace headway {

[[nodiscard]] FileResult<ProgramFile> read_simgrid_trace(std::span<const NamedText> files,
                                                         const ProgramLimits& limits = {});

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// What Open MPI's monitoring components write, a file for each rank:
//
//   mpirun --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3
//          --mca pml_monitoring_filename NAME ...      ->  NAME.RANK.prof
//
// Lines have fields between tabs.  The first says what is counted:
//   E  messages of the program's own point-to-point calls, by pair
//   I  messages that the library sends for itself, collectives among them
//   S, R  one-sided: sent to, and fetched from, another rank
//   C  what collectives meant to send; the messages are in I as well
//   D, O2A, A2O, A2A  collectives by communicator: they name no pairs
// The matrix is E + I + S, and R in the other direction.  With
// pml_monitoring_enable 1 Open MPI writes I's messages as E.
#pragma once

#include <span>

#include "base/file_error.hpp"
#include "formats/file_mistakes.hpp"
#include "formats/traffic_matrix.hpp"

namespace headway {

/// One matrix of the files of a run.  Ranks are as many as the files name.  Where all have the names that
/// Open MPI gives them, a rank without a file is a mistake.
[[nodiscard]] FileResult<TrafficMatrix> read_open_mpi_monitoring(std::span<const NamedText> files);

}  // namespace headway

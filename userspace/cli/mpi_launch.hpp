// SPDX-License-Identifier: Apache-2.0
// The command line that starts an MPI job whose ranks get variables of the
// environment.  Every launcher hands its own environment on to all ranks (Hydra,
// srun, a script that calls one of them), but for Open MPI's mpirun, which hands it
// on to the ranks of its own node only.
#pragma once

#include <string>
#include <vector>

namespace headway {

/// Is `word`, the first of a command, mpirun or mpiexec of Open MPI?
[[nodiscard]] bool is_open_mpi_launcher(const std::string& word);

/// Is `word` a program that starts ranks, rather than a script that calls one?
[[nodiscard]] bool is_launcher(const std::string& word);

/// Open MPI's mpirun, told to hand on the variables of these names to all ranks.
[[nodiscard]] std::vector<std::string> handing_on(const std::vector<std::string>& command,
                                                  const std::vector<std::string>& names);

}  // namespace headway

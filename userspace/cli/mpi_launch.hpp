// SPDX-License-Identifier: Apache-2.0
// The command line that starts an MPI job with the helper library in its ranks
// and nowhere else: each launcher has its own way to hand its ranks a variable.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headway {

enum class MpiLibrary { unknown, open_mpi, mpich };
enum class MpiLauncher {
    open_mpi,  ///< orterun, prterun: -x NAME=VALUE, once for each program of the line
    hydra,     ///< mpiexec of MPICH: -genv NAME VALUE
    other,     ///< srun, the program itself...: its environment becomes the ranks'
};

using Environment = std::vector<std::pair<std::string, std::string>>;

struct MpiLaunch {
    MpiLauncher launcher = MpiLauncher::other;
    MpiLibrary library = MpiLibrary::unknown;
};

/// What a command line starts, from the files that its words name: the launcher
/// by its own name and libraries, the MPI library by those of the first program
/// that is linked to one, or else by the launcher.
[[nodiscard]] MpiLaunch inspect_launch(const std::vector<std::string>& command);

/// libheadway-ompi.so or libheadway-mpich.so.
[[nodiscard]] std::string helper_file_name(MpiLibrary library);

/// The command with `environment` for the ranks.  What `launcher` other wants set
/// in its own environment is left for the caller: the command is as it was.
[[nodiscard]] std::vector<std::string> with_environment(const std::vector<std::string>& command,
                                                        MpiLauncher launcher,
                                                        const Environment& environment);

}  // namespace headway

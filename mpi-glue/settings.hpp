// SPDX-License-Identifier: MIT
// The HEADWAY_* environment variables, read once, before MPI_Init.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace headway::glue {

struct Settings {
    bool enabled = true;            ///< HEADWAY=off: the library does nothing at all
    bool transport = true;          ///< HEADWAY_TRANSPORT=off: the library's TCP is left alone
    bool algorithm = true;          ///< HEADWAY_ALGORITHM=off: none of our own algorithms
    bool all_ranks = false;         ///< HEADWAY_ALL_RANKS=on: the user says that all have the library
    bool verbose = false;           ///< HEADWAY_VERBOSE=1: show the daemon's answers
    bool siblings_disjoint = false; ///< HEADWAY_SIBLINGS=disjoint: see headway-mpi.rst
    bool any_reduction_order = false;  ///< HEADWAY_REDUCTION_ORDER=any: rounding may differ
    std::string socket_path = "/run/headway/control.sock";  ///< HEADWAY_SOCKET
    std::string pattern_file;  ///< HEADWAY_PATTERN: a recording to pace by
    std::chrono::milliseconds timeout{1000};                ///< HEADWAY_TIMEOUT_MS
    std::vector<std::string> complaints;  ///< values that were not understood, one sentence each
};

[[nodiscard]] Settings read_settings();

/// Version and settings in which all ranks must agree, for they decide which collectives
/// the library itself calls.
[[nodiscard]] std::string agreed_version(const Settings& settings);

}  // namespace headway::glue

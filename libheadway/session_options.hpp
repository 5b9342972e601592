// SPDX-License-Identifier: MIT
// How a process reaches headwayd, and what it tells it of its job's habits.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "environment.hpp"

namespace headway::glue {

struct SessionOptions {
    bool enabled = true;  ///< HEADWAY=off: nothing is done at all
    std::string socket_path = "/run/headway/control.sock";  ///< HEADWAY_SOCKET
    std::chrono::milliseconds timeout{1000};  ///< HEADWAY_TIMEOUT_MS: of one answer
    std::uint64_t job_start = 0;     ///< HEADWAY_JOB_START (job_start.hpp); 0: nobody has drawn it
    bool verbose = false;            ///< HEADWAY_VERBOSE=1: shows the daemon's answers
    bool siblings_disjoint = false;  ///< HEADWAY_SIBLINGS=disjoint: see headway-mpi.rst
};

/// Reads the options that the environment sets; the rest stays at its default.
void read_session_options(SessionOptions& options, Complaints& complaints);

}  // namespace headway::glue

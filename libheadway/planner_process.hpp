// SPDX-License-Identifier: MIT
// A planner of the job's own, for nodes without headwayd: `headway planner`, started by one of the job's
// processes, which asks it over a socket as it would ask headwayd.
//
// It is no child of that process: a program that waits for its children, or has a handler of SIGCHLD, does
// not see it.  It ends when the process ends or closes the link.
#pragma once

#include <chrono>
#include <string>

#include "daemon_link.hpp"

namespace headway::glue {

/// How to start one.
struct PlannerPlan {
    std::string program;  ///< the path of headway; "": there is none
    std::string
        network;  ///< what it is to know of the network: a path, of a file or folder, or a line
    std::chrono::milliseconds timeout{};  ///< for each answer
};

/// Waits until the program runs, or cannot be started.
[[nodiscard]] LinkResult<DaemonLink> start_planner(const PlannerPlan& plan);

}  // namespace headway::glue

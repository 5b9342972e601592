// SPDX-License-Identifier: Apache-2.0
// headwayd from configuration to clean end.
#pragma once

#include <spdlog/fwd.h>

#include "base/exit_status.hpp"
#include "config/config.hpp"

namespace headway {

enum class Task {
    pace,           ///< and at the end the interface has its default again
    pace_and_keep,  ///< and everything stays in force, for the next run to take over
    restore,        ///< only give the interface its default, unless another daemon runs
};

/// Pacing sets the kernel up, or takes it over from an earlier run, and serves clients
/// until SIGTERM or SIGINT.  SIGHUP reads the configuration's file anew.
[[nodiscard]] ExitStatus run_daemon(Config config, Task task, spdlog::logger& log);

}  // namespace headway

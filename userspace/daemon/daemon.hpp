// SPDX-License-Identifier: Apache-2.0
// headwayd from configuration to clean end.
#pragma once

#include <spdlog/fwd.h>

#include "base/exit_status.hpp"
#include "config/config.hpp"

namespace headway {

enum class AtTheEnd {
    restore,  ///< the interface has its default again
    keep,     ///< everything stays in force, for the next run to take over
};

/// Sets the kernel up, or takes it over from an earlier run, and serves clients
/// until SIGTERM or SIGINT.  SIGHUP reads the configuration's file anew.
[[nodiscard]] ExitStatus run_daemon(Config config, AtTheEnd at_the_end, spdlog::logger& log);

/// What run_daemon() does at the end, unless another daemon runs.
[[nodiscard]] ExitStatus restore_interface(Config config, spdlog::logger& log);

}  // namespace headway

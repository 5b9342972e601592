// SPDX-License-Identifier: Apache-2.0
// headwayd from configuration to clean end.
#pragma once

#include <spdlog/logger.h>

#include "daemon/config.hpp"
#include "daemon/exit_status.hpp"

namespace headway {

/// Sets the kernel up, serves clients until SIGTERM or SIGINT, and takes
/// everything out again.  SIGHUP reads the configuration's file anew.
[[nodiscard]] ExitStatus run_daemon(Config config, spdlog::logger& log);

}  // namespace headway

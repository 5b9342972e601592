// SPDX-License-Identifier: Apache-2.0
// `headway status`: what the running daemon says about itself.
#pragma once

#include <string>

#include "daemon/exit_status.hpp"

namespace headway {

struct StatusOptions {
    std::string config;
    std::string socket;  ///< empty: as the configuration says
    bool json = false;
};

[[nodiscard]] ExitStatus status_command(const StatusOptions& options);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>

#include "base/exit_status.hpp"
#include "config/config.hpp"

namespace headway {

/// Every error on a line of its own, to stderr.
void report_config_errors(std::span<const ConfigError> errors);

/// What `headwayd --check-config` and `headway check-config` do: one line to
/// stdout if all is well, else every error to stderr.
[[nodiscard]] ExitStatus check_config(const std::filesystem::path& file);

}  // namespace headway

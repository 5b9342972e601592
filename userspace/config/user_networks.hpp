// SPDX-License-Identifier: Apache-2.0
// What `headway run` knows of networks without an administrator: the user's own headway.toml, and
// what `headway measure` has found, which is kept for the next job.
//
//   ~/.config/headway/headway.toml          or below $XDG_CONFIG_HOME
//   ~/.local/state/headway/networks/        or below $XDG_STATE_HOME: a[0-3],b[0-3].toml, with
//                                           a[0-3],b[0-3].json, the whole document, beside it
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/config.hpp"

namespace headway {

/// Returns where the file would be; none: the user has no home.
[[nodiscard]] std::optional<std::filesystem::path> user_config_file();
[[nodiscard]] std::optional<std::filesystem::path> user_networks_folder();

/// Finds, among the networks in a folder that have all of these hosts, the one kept last.
[[nodiscard]] Result<Config> find_kept_network(const std::filesystem::path& folder,
                                               std::span<const std::string> hosts);

/// Keeps it in place of what was kept of the same hosts, and makes the folder if there is none.
/// `network`: the tables of headway.toml; `document`: of `headway measure`, where it
/// measured messages, too; else empty.  The file's path.
[[nodiscard]] Result<std::filesystem::path> keep_network(const std::filesystem::path& folder,
                                                         std::span<const std::string> hosts,
                                                         std::string_view network,
                                                         std::string_view document);

}  // namespace headway

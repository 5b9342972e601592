// SPDX-License-Identifier: Apache-2.0
#include "cli/control_options.hpp"

#include <filesystem>

#include "cli/network_options.hpp"
#include "config/config.hpp"

namespace headway {

void ControlOptions::add_to(const Verb& verb) {
    config_option_ = add_config_option(verb, config);
    verb.add_option("--socket", socket, "control socket (default: as the configuration says)");
}

tl::expected<std::string, ExitStatus> ControlOptions::path() const {
    if (!socket.empty()) return socket;
    std::error_code error;
    if (!config_option_.is_given() && !std::filesystem::exists(config, error)) {
        return socket_default_path;
    }
    const auto loaded = load_config(config);
    if (!loaded) {
        report_config_errors(loaded.error());
        return tl::unexpected(ExitStatus::bad_config);
    }
    return loaded->daemon.socket;
}

}  // namespace headway

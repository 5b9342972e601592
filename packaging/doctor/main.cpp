// SPDX-License-Identifier: Apache-2.0
// headway doctor without all else that headway is: what `make doctor` builds.
#include "base/version.hpp"
#include "cli/command.hpp"
#include "config/config.hpp"

namespace headway {

/// It reads no headway.toml, for who asks whether he needs Headway has none; --socket names another.
NamedSocket find_control_socket(const std::filesystem::path&) { return {socket_default_path, ""}; }

}  // namespace headway

int main(int argc, char** argv) {
    const headway::CommandLine line("headway", "Says whether Headway would help here.", headway::version);
    line.program().needs_verb();
    const auto doctor = headway::doctor_command(line);
    const auto status = line.read({argv + 1, argv + argc});
    return static_cast<int>(status ? *status : doctor->run());
}

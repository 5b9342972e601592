// SPDX-License-Identifier: Apache-2.0
#include "cli/switch_command.hpp"

#include <fmt/core.h>

#include "base/json_text.hpp"
#include "control/control_client.hpp"

namespace headway {
namespace {

const char* name_of(SwitchCommand::To to) { return to == SwitchCommand::To::off ? "off" : "on"; }

ExitStatus fail(const char* name, const std::string& why) {
    fmt::print(stderr, "headway {}: {}\n", name, why);
    return ExitStatus::failure;
}

}  // namespace

SwitchCommand::SwitchCommand(const CommandLine& line, To to)
    : Command(line, name_of(to),
              to == To::off ? "let all traffic of this node go unpaced, until headway on"
                            : "pace this node again"),
      to_(to) {
    control_.add_to(verb());
    verb().add_flag("--json", json_, "print JSON");
}

ExitStatus SwitchCommand::run() const {
    const char* const name = name_of(to_);
    const auto socket = control_.path();
    if (!socket) return socket.error();
    auto client = ControlClient::connect(*socket);
    if (!client) return fail(name, client.error().message);
    const auto answer = client->request(name);
    if (!answer) return fail(name, answer.error().message);
    if (json_) fmt::print("{}\n", json_text(*answer, 2));
    else fmt::print("pacing is {}\n", name);
    if (!answer->value("kept", true)) {
        return fail(name, "a restart of headwayd will forget this: " + answer->value("not_kept", ""));
    }
    if (answer->value("in_step", true)) return ExitStatus::ok;
    return fail(name, "the kernel is not as wanted yet; headwayd is trying again");
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// `headway off` and `headway on`: pacing of the whole node, by an administrator.
#include <fmt/core.h>

#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/control_options.hpp"
#include "protocol/control_client.hpp"

namespace headway {
namespace {

class SwitchCommand final : public Command {
public:
    enum class To { off, on };
    SwitchCommand(const CommandLine& line, To to);
    [[nodiscard]] ExitStatus run() const override;

private:
    To to_;
    ControlOptions control_;
    bool json_ = false;
};

const char* name_of(SwitchCommand::To to) { return to == SwitchCommand::To::off ? "off" : "on"; }

}  // namespace

SwitchCommand::SwitchCommand(const CommandLine& line, To to)
    : Command(line, name_of(to),
              to == To::off ? "let all traffic of this node go unpaced, until headway on"
                            : "pace this node again"),
      to_(to) {
    control_.add_to(verb());
    verb().add_flag("-j,--json", json_, "print JSON");
}

ExitStatus SwitchCommand::run() const {
    const char* const name = name_of(to_);
    const std::string socket = control_.path();
    auto client = ControlClient::connect(socket);
    if (!client) return tell(name, client.error(), ExitStatus::failure);
    const auto answer = client->request(name);
    if (!answer) return tell(name, answer.error(), ExitStatus::failure);
    if (json_) fmt::print("{}\n", json_text(*answer, 2));
    else fmt::print("pacing is {}\n", name);
    if (!answer->value("kept", true)) {
        return tell(name, {"a restart of headwayd will forget this: " + answer->value("not_kept", "")}, ExitStatus::failure);
    }
    if (answer->value("in_step", true)) return ExitStatus::ok;
    return tell(name, {"the kernel is not as wanted yet; headwayd is trying again"}, ExitStatus::failure);
}

std::unique_ptr<Command> off_command(const CommandLine& line) {
    return std::make_unique<SwitchCommand>(line, SwitchCommand::To::off);
}

std::unique_ptr<Command> on_command(const CommandLine& line) {
    return std::make_unique<SwitchCommand>(line, SwitchCommand::To::on);
}

}  // namespace headway

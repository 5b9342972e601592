// SPDX-License-Identifier: Apache-2.0
// `headway wait`: until the daemon has everything in the kernel.
#include <chrono>
#include <cstdint>
#include <thread>

#include <fmt/core.h>

#include "cli/command.hpp"
#include "cli/control_options.hpp"
#include "protocol/control_client.hpp"

namespace headway {
namespace {

class WaitCommand final : public Command {
public:
    explicit WaitCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    ControlOptions control_;
    std::uint32_t timeout_s_ = 60;
};

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds pause_between_questions{100};
constexpr std::uint32_t longest_timeout_s = 86400;

/// Why not yet; or nothing.
Result<void> in_step(const std::string& socket) {
    auto client = ControlClient::connect(socket);
    if (!client) return tl::unexpected(client.error());
    const auto status = client->request("ready");
    if (!status) return tl::unexpected(status.error());
    if (!status->value("in_step", false)) return failure("the kernel is not as headwayd wants it");
    return {};
}

}  // namespace

WaitCommand::WaitCommand(const CommandLine& line)
    : Command(line, "wait", "wait until headwayd has everything in the kernel") {
    control_.add_to(verb());
    verb()
        .add_option("--timeout", timeout_s_, "give up after so many seconds")
        .between(0U, longest_timeout_s)
        .in_seconds()
        .shows_default();
}

ExitStatus WaitCommand::run() const {
    const std::string socket = control_.path();
    const auto deadline = Clock::now() + std::chrono::seconds(timeout_s_);
    auto ready = in_step(socket);
    while (!ready && Clock::now() < deadline) {
        std::this_thread::sleep_for(pause_between_questions);
        ready = in_step(socket);
    }
    if (ready) return ExitStatus::ok;
    fmt::print(stderr, "headway wait: not ready after {} s: {}\n", timeout_s_,
               ready.error().message);
    return ExitStatus::failure;
}

std::unique_ptr<Command> wait_command(const CommandLine& line) {
    return std::make_unique<WaitCommand>(line);
}

}  // namespace headway

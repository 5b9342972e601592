// SPDX-License-Identifier: Apache-2.0
// `headway top`: what the daemon and the kernel do, as it changes.
#include <cstdint>
#include <cstdio>
#include <thread>

#include <fmt/core.h>

#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/control_options.hpp"
#include "cli/terminal.hpp"
#include "cli/top_frame.hpp"
#include "look/gap_counters.hpp"
#include "protocol/control_client.hpp"

namespace headway {
namespace {

class TopCommand final : public Command {
public:
    explicit TopCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    [[nodiscard]] ExitStatus show_on_terminal(ControlClient& client, TopSample before) const;
    [[nodiscard]] ExitStatus print_frames(ControlClient& client, TopSample before) const;
    [[nodiscard]] std::chrono::milliseconds interval() const;

    ControlOptions control_;
    double interval_s_ = 1;
    std::uint64_t count_ = 0;  ///< 0: without end
    bool once_ = false;
    bool json_ = false;
};

constexpr const char* top_verb = "top";

Result<TopSample> take_sample(ControlClient& client) {
    auto status = client.request("status");
    if (!status) return tl::unexpected(status.error());
    const std::string interface = status->contains("daemon") && (*status)["daemon"].is_object()
                                      ? (*status)["daemon"].value("interface", "")
                                      : "";
    auto gaps = read_gap_counters(interface);
    return TopSample{std::move(*status), read_tcp_counters(), gaps ? *gaps : std::nullopt,
                     std::chrono::steady_clock::now().time_since_epoch()};
}

/// False if nobody reads it any more.
bool print_frame(const Json& frame, bool as_json, bool is_first) {
    if (as_json) {
        fmt::print("{}\n", json_text(frame));
    } else {
        if (!is_first) fmt::print("\n");
        for (const std::string& line : top_lines(frame, 0, 0)) fmt::print("{}\n", line);
    }
    return std::fflush(stdout) == 0;
}

}  // namespace

TopCommand::TopCommand(const CommandLine& line)
    : Command(line, top_verb, "watch what the running headwayd and the kernel do") {
    control_.add_to(verb());
    verb()
        .add_option("-d,--interval", interval_s_, "seconds from frame to frame")
        .between(0.1, 3600.0)
        .in_seconds()
        .shows_default();
    const auto once = verb().add_flag("--once", once_, "print one frame and end");
    verb().add_option("-n,--count", count_, "print so many frames and end").excludes(once);
    verb().add_flag("-j,--json", json_, "print a JSON object for each frame, one a line");
}

std::chrono::milliseconds TopCommand::interval() const {
    return std::chrono::milliseconds(static_cast<long>(interval_s_ * 1000));
}

ExitStatus TopCommand::run() const {
    const std::string socket = control_.path();
    auto client = ControlClient::connect(socket);
    if (!client) return tell(top_verb, client.error(), ExitStatus::failure);
    auto first = take_sample(*client);
    if (!first) return tell(top_verb, first.error(), ExitStatus::failure);
    const bool is_live = !once_ && count_ == 0 && !json_ && Terminal::is_there();
    return is_live ? show_on_terminal(*client, std::move(*first))
                   : print_frames(*client, std::move(*first));
}

ExitStatus TopCommand::print_frames(ControlClient& client, TopSample before) const {
    const std::uint64_t last = once_ ? 1 : count_;
    for (std::uint64_t number = 1; last == 0 || number <= last; ++number) {
        std::this_thread::sleep_for(interval());
        auto now = take_sample(client);
        if (!now) return tell(top_verb, now.error(), ExitStatus::failure);
        if (!print_frame(top_frame(before, *now), json_, number == 1)) return ExitStatus::failure;
        before = std::move(*now);
    }
    return ExitStatus::ok;
}

ExitStatus TopCommand::show_on_terminal(ControlClient& client, TopSample before) const {
    std::optional<Error> error;
    {
        const Terminal terminal;
        Json frame = top_frame(before, before);
        for (;;) {
            const Terminal::Size size = terminal.size();
            terminal.draw(top_lines(frame, size.width, size.height));
            const Terminal::Event event = terminal.wait(interval());
            if (event == Terminal::Event::quit) return ExitStatus::ok;
            if (event == Terminal::Event::resize) continue;
            auto now = take_sample(client);
            if (!now) {
                error = now.error();
                break;
            }
            frame = top_frame(before, *now);
            before = std::move(*now);
        }
    }
    return tell(top_verb, *error, ExitStatus::failure);
}

std::unique_ptr<Command> top_command(const CommandLine& line) {
    return std::make_unique<TopCommand>(line);
}

}  // namespace headway

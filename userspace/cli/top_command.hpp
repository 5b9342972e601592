// SPDX-License-Identifier: Apache-2.0
// `headway top`: what the daemon and the kernel do, as it changes.
#pragma once

#include <cstdint>

#include "cli/control_options.hpp"
#include "cli/top_frame.hpp"
#include "protocol/control_client.hpp"

namespace headway {

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

}  // namespace headway

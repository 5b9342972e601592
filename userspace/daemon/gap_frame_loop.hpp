// SPDX-License-Identifier: Apache-2.0
// Whether the qdisc uses gap frames: the self-test at the start and whenever the carrier
// comes back, and a line in the log for what it found.
#pragma once

#include <optional>
#include <string>

#include <spdlog/fwd.h>

#include "daemon/control_service.hpp"
#include "daemon/event_loop.hpp"
#include "kernel/gap_frame_test.hpp"

namespace headway {

class GapFrameLoop {
public:
    /// If there is a carrier, it is decided when this returns: the first test takes 40 ms, or as
    /// long as the link needs for 4 MiB.  The references must outlive the loop.
    GapFrameLoop(EventLoop& loop, ControlService& service, TrafficControl& kernel,
                 spdlog::logger& log);
    ~GapFrameLoop();

    /// The device, or its qdisc, may not be as it was.
    void look();

private:
    [[nodiscard]] bool is_wanted() const;
    [[nodiscard]] bool goes_on_with_gap_frames();
    void begin();
    void step();
    void end(const Result<GapFrameEvidence>& result);
    void use(std::uint32_t backend, const std::string& why, bool is_expected);
    [[nodiscard]] std::optional<std::uint64_t> carrier_ups() const;

    ControlService& service_;
    TrafficControl& kernel_;
    spdlog::logger& log_;
    std::string interface_;
    SteadyClock clock_;
    EventSource timer_;
    std::optional<std::uint64_t> tested_at_;  ///< how often the carrier had come by then
    std::optional<GapFrameTest> test_;  ///< none: no test is under way
    bool is_second_ = false;
};

}  // namespace headway

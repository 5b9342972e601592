// SPDX-License-Identifier: Apache-2.0
// Whether the qdisc uses gap frames: the self-test at the start and whenever the carrier
// comes back, and a line in the log for what it found.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <spdlog/fwd.h>

#include "daemon/control_service.hpp"
#include "daemon/event_source.hpp"
#include "kernel/gap_frame_test.hpp"
#include "kernel/packet_device.hpp"

namespace headway {

class GapFrameLoop {
public:
    /// With a carrier, when this returns it is decided: the first test takes 40 ms, or as
    /// long as the link needs for 4 MiB.  The references must outlive the loop.
    [[nodiscard]] static Result<std::unique_ptr<GapFrameLoop>> start(sd_event* event,
                                                                     ControlService& service,
                                                                     TrafficControl& kernel,
                                                                     spdlog::logger& log);
    GapFrameLoop(const GapFrameLoop&) = delete;
    GapFrameLoop& operator=(const GapFrameLoop&) = delete;
    ~GapFrameLoop();

    /// The device, or its qdisc, may not be as it was.
    void look();

private:
    GapFrameLoop(ControlService& service, TrafficControl& kernel, spdlog::logger& log);
    [[nodiscard]] bool is_wanted() const;
    [[nodiscard]] bool goes_on_with_gap_frames();
    void begin();
    void step();
    void end(const Result<GapFrameEvidence>& result);
    [[nodiscard]] std::optional<std::uint64_t> carrier_ups() const;

    static int on_step(sd_event_source*, std::uint64_t, void* loop);

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

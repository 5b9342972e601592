// SPDX-License-Identifier: Apache-2.0
// When pacing rests (kernel/resting_traffic_control.hpp): at the start, and where nobody has been paced at two looks,
// some seconds apart, so that jobs which follow each other do not change the device's qdiscs.
#pragma once

#include <functional>
#include <string>

#include <spdlog/fwd.h>

#include "daemon/control_service.hpp"
#include "daemon/event_loop.hpp"
#include "kernel/resting_traffic_control.hpp"

namespace headway {

class RestLoop {
public:
    /// The kernel is set up, and tested.  `look_also` is called after the end of each rest.  The references must
    /// outlive the loop.
    RestLoop(EventLoop& loop, ControlService& service, RestingTrafficControl& kernel, spdlog::logger& log,
             std::function<void()> look_also);
    RestLoop(RestLoop&&) = delete;
    ~RestLoop();

private:
    void look();
    void rest();
    void wake(const Result<void>& done);

    ControlService& service_;
    RestingTrafficControl& kernel_;
    spdlog::logger& log_;
    std::string interface_;
    EventSource timer_;
    bool has_been_idle_ = true;  ///< at the last look
    std::string last_error_;
    std::function<void()> look_also_;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// When pacing rests (kernel/resting_traffic_control.hpp): at the start, and where nobody has been paced at two looks.
// With each change of the device's qdiscs others may lose what they have queued there: so the looks are further apart
// the more often rests were short, whatever jobs or a hostile client do.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include <spdlog/fwd.h>

#include "daemon/control_service.hpp"
#include "daemon/event_loop.hpp"
#include "kernel/resting_traffic_control.hpp"

namespace headway {

/// How far apart the two looks are.
class RestPause {
public:
    static constexpr std::chrono::seconds shortest{5}, longest{600};

    [[nodiscard]] std::chrono::seconds get() const { return pause_; }
    /// A rest has ended that lasted so long.
    void ended_after(std::chrono::nanoseconds lasted) {
        pause_ = lasted > longest ? shortest : std::min(2 * pause_, longest);
    }

private:
    std::chrono::seconds pause_ = shortest;
};

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
    SteadyClock clock_;
    std::chrono::nanoseconds began_{0};  ///< the last rest
    RestPause pause_;
    EventSource timer_;
    bool has_been_idle_ = true;  ///< at the last look
    std::string last_error_;
    std::function<void()> look_also_;
};

}  // namespace headway

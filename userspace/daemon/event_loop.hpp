// SPDX-License-Identifier: Apache-2.0
// The daemon's event loop, which is sd-event's, and what happens in it.
#pragma once

#include <systemd/sd-event.h>

#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>

#include "base/error.hpp"

namespace headway {

struct EventSourceUnref {
    void operator()(sd_event_source* source) const { sd_event_source_disable_unref(source); }
};
/// The loop calls the handler as long as this exists.  The handler may end it itself meanwhile.
using EventSource = std::unique_ptr<sd_event_source, EventSourceUnref>;

class EventLoop {
public:
    using Handler = std::function<void()>;

    EventLoop();

    /// Null where something could not be made, of which check() tells: who makes several asks once.
    ///
    /// A timer that does not run yet.  Made beforehand: when it is needed, there may be no
    /// descriptor left to make one with.
    [[nodiscard]] EventSource timer(Handler handler, clockid_t clock = CLOCK_MONOTONIC);
    /// `what` is told if it fails: "watching a client".
    [[nodiscard]] EventSource readable(int fd, const char* what, Handler handler,
                                       std::int64_t priority = SD_EVENT_PRIORITY_NORMAL);
    /// When nothing more urgent is left to do, once; not at all until it is enabled.
    [[nodiscard]] EventSource deferred(Handler handler);
    /// After any other event.
    [[nodiscard]] EventSource after_events(Handler handler);
    /// The signal must be blocked.
    [[nodiscard]] EventSource signal(int number, Handler handler);
    /// The first failure since the last check().
    [[nodiscard]] Result<void> check();

    /// Runs until sd_event_exit().
    [[nodiscard]] Result<void> run();
    [[nodiscard]] sd_event* get() const { return event_.get(); }

private:
    struct Unref {
        void operator()(sd_event* event) const { sd_event_unref(event); }
    };

    template <class Add, class... Arguments>
    EventSource make(const char* what, Handler handler, Add add, Arguments... arguments);

    std::unique_ptr<sd_event, Unref> event_;
    Result<void> made_;
};

/// Once, at that moment of CLOCK_MONOTONIC, and not before; none: not at all.
void set_timer(const EventSource& timer, const std::optional<std::chrono::nanoseconds>& at);

/// Once, so long from now.
void start_timer(const EventSource& timer, std::chrono::microseconds pause);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// What the daemon's parts need of an sd-event loop.
#pragma once

#include <systemd/sd-event.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/error.hpp"

namespace headway {

struct EventSourceUnref {
    void operator()(sd_event_source* source) const { sd_event_source_disable_unref(source); }
};
using EventSource = std::unique_ptr<sd_event_source, EventSourceUnref>;

/// `result` is what an sd-event function returned: a negative error number.
[[nodiscard]] tl::unexpected<Error> event_failure(int result, const char* what);

/// A timer that does not run yet.  Made beforehand: when it is needed, there may
/// be no descriptor left to make one with.
[[nodiscard]] Result<EventSource> make_timer(sd_event* event, sd_event_time_handler_t handler,
                                             void* argument);

/// Once, at that moment of CLOCK_MONOTONIC, and not before; none: not at all.
void set_timer(const EventSource& timer, const std::optional<std::chrono::nanoseconds>& at);

/// Once, so long from now.
void start_timer(const EventSource& timer, std::chrono::microseconds pause);

}  // namespace headway

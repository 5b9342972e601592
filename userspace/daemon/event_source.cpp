// SPDX-License-Identifier: Apache-2.0
#include "daemon/event_source.hpp"

#include <cstring>
#include <ctime>

namespace headway {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds timer_accuracy = 1ms;

std::uint64_t microseconds(std::chrono::nanoseconds duration) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}

}  // namespace

tl::unexpected<Error> event_failure(int result, const char* what) {
    return system_failure(-result, "{}: {}", what, std::strerror(-result));
}

Result<EventSource> make_timer(sd_event* event, sd_event_time_handler_t handler, void* argument) {
    sd_event_source* source = nullptr;
    const int added = sd_event_add_time(event, &source, CLOCK_MONOTONIC, 0,
                                        microseconds(timer_accuracy), handler, argument);
    if (added < 0) return event_failure(added, "making a timer");
    sd_event_source_set_enabled(source, SD_EVENT_OFF);
    return EventSource(source);
}

void set_timer(const EventSource& timer, const std::optional<std::chrono::nanoseconds>& at) {
    if (at) sd_event_source_set_time(timer.get(), microseconds(*at) + 1);
    sd_event_source_set_enabled(timer.get(), at ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

void start_timer(const EventSource& timer, std::chrono::microseconds pause) {
    sd_event_source_set_time_relative(timer.get(), microseconds(pause));
    sd_event_source_set_enabled(timer.get(), SD_EVENT_ONESHOT);
}

}  // namespace headway

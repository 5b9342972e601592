// SPDX-License-Identifier: Apache-2.0
#include "daemon/event_loop.hpp"

#include <sys/epoll.h>

namespace headway {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds timer_accuracy = 1ms;

std::uint64_t microseconds(std::chrono::nanoseconds duration) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}

/// `result` is what an sd-event function returned: a negative error number.
tl::unexpected<Error> event_failure(int result, const char* what) {
    return system_failure(-result, "{}: {}", what, std::strerror(-result));
}

/// A function for sd-event to call, with the details that it adds.
template <class... Details>
struct Caller {
    static int call(sd_event_source*, Details..., void* handler) {
        (*static_cast<EventLoop::Handler*>(handler))();
        return 0;
    }
};

}  // namespace

EventLoop::EventLoop() {
    sd_event* event = nullptr;
    if (const int made = sd_event_new(&event); made < 0) made_ = event_failure(made, "event loop");
    event_.reset(event);
}

/// sd-event keeps the handler until it has returned, even if it ends its own source.
template <class Add, class... Arguments>
EventSource EventLoop::make(const char* what, Handler handler, Add add, Arguments... arguments) {
    auto kept = std::make_unique<Handler>(std::move(handler));
    sd_event_source* source = nullptr;
    if (const int added = add(get(), &source, arguments..., kept.get()); added < 0) {
        if (made_) made_ = event_failure(added, what);
        return nullptr;
    }
    sd_event_source_set_destroy_callback(source,
                                         [](void* it) { delete static_cast<Handler*>(it); });
    kept.release();
    return EventSource(source);
}

EventSource EventLoop::timer(Handler handler, clockid_t clock) {
    auto source = make("making a timer", std::move(handler), sd_event_add_time, clock, 0,
                      microseconds(timer_accuracy), Caller<std::uint64_t>::call);
    sd_event_source_set_enabled(source.get(), SD_EVENT_OFF);
    return source;
}

EventSource EventLoop::readable(int fd, const char* what, Handler handler, std::int64_t priority) {
    auto source = make(what, std::move(handler), sd_event_add_io, fd, EPOLLIN,
                      Caller<int, std::uint32_t>::call);
    sd_event_source_set_priority(source.get(), priority);
    return source;
}

EventSource EventLoop::deferred(Handler handler) {
    auto source = make("deferring work", std::move(handler), sd_event_add_defer, Caller<>::call);
    sd_event_source_set_enabled(source.get(), SD_EVENT_OFF);
    sd_event_source_set_priority(source.get(), SD_EVENT_PRIORITY_NORMAL + 1);
    return source;
}

EventSource EventLoop::after_events(Handler handler) {
    return make("following what is handed over", std::move(handler), sd_event_add_post,
                Caller<>::call);
}

EventSource EventLoop::signal(int number, Handler handler) {
    return make("watching signals", std::move(handler), sd_event_add_signal, number,
               Caller<const signalfd_siginfo*>::call);
}

Result<void> EventLoop::check() {
    return std::exchange(made_, Result<void>());
}

Result<void> EventLoop::run() {
    const int ended = sd_event_loop(get());
    if (ended < 0) return event_failure(ended, "event loop");
    return {};
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

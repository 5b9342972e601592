// SPDX-License-Identifier: Apache-2.0
#include "daemon/rest_loop.hpp"

#include <utility>

#include "base/log.hpp"

namespace headway {
RestLoop::RestLoop(EventLoop& loop, ControlService& service, RestingTrafficControl& kernel, spdlog::logger& log,
                   std::function<void()> look_also)
    : service_(service),
      kernel_(kernel),
      log_(log),
      interface_(service.planner().config().node.interface),
      timer_(loop.timer([this] { look(); })),
      look_also_(std::move(look_also)) {
    kernel_.when_woken([this](const Result<void>& done) { wake(done); });
    service_.status().show_rest([this] { return kernel_.is_resting(); });
    look();
}

RestLoop::~RestLoop() {
    kernel_.when_woken([](const Result<void>&) {});
    service_.status().show_rest({});
}

void RestLoop::look() {
    if (kernel_.is_resting()) return;
    const bool is_idle = service_.paces_nobody();
    if (std::exchange(has_been_idle_, is_idle) && is_idle) rest();
    if (!kernel_.is_resting()) start_timer(timer_, pause_.get());
}

void RestLoop::rest() {
    const auto done = kernel_.rest();
    if (!done) {
        if (std::exchange(last_error_, done.error().message) == done.error().message) return;
        log_warning(log_, "HW-211 cannot give {} its own qdiscs back while nobody is paced: {}", interface_,
                    done.error().message);
        return;
    }
    last_error_.clear();
    if (!*done) return;
    began_ = clock_.now();
    log_info(log_, "resting on {}: nobody is paced, and it has its own qdiscs", interface_);
}

void RestLoop::wake(const Result<void>& done) {
    if (!done) {
        if (std::exchange(last_error_, done.error().message) == done.error().message) return;
        log_error(log_, "HW-206 cannot set up {}: {}", interface_, done.error().message);
        return;
    }
    last_error_.clear();
    log_info(log_, "set up {} again: somebody is paced", interface_);
    has_been_idle_ = false;
    pause_.ended_after(clock_.now() - began_);
    start_timer(timer_, pause_.get());
    look_also_();
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// The reconciler in an sd-event loop: the kernel's news in, passes when they are
// due, a line in the log for what they found.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <spdlog/fwd.h>

#include "daemon/control_service.hpp"
#include "daemon/event_loop.hpp"
#include "kernel/kernel_monitor.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "kernel/reconciler.hpp"

namespace headway {

class KernelWatch {
public:
    /// The references must outlive the watch.  `monitor` must have been opened
    /// before the kernel was set up, so that no change is missed.  `look_also` is
    /// called after what others have done to the device.
    KernelWatch(EventLoop& loop, KernelMonitor monitor, const NetlinkTrafficControl& link,
                ControlService& service, Reconciler& reconciler, spdlog::logger& log,
                std::function<void()> look_also);
    KernelWatch(KernelWatch&&) = delete;

    /// Lets the rates of an earlier run go, once its clients have had the time to
    /// say what they want.
    void release_adopted_later();

private:
    void listen();
    void listen_for_news();
    void listen_later();
    void listen_anew();
    void release_adopted();
    void run_if_due();
    void tell(const KernelDiff& diff);
    void tell_link(BytesPerSecond before);

    KernelMonitor monitor_;
    const NetlinkTrafficControl& link_;
    ControlService& service_;
    Reconciler& reconciler_;
    spdlog::logger& log_;
    std::string device_;
    EventLoop& loop_;
    EventSource news_;
    EventSource anew_;
    std::chrono::microseconds anew_after_{0};
    EventSource due_;
    EventSource release_;
    std::string last_error_;
    std::function<void()> look_also_;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// The reconciler in an sd-event loop: the kernel's news in, passes when they are
// due, a line in the log for what they found.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <spdlog/fwd.h>

#include "daemon/control_service.hpp"
#include "daemon/event_source.hpp"
#include "daemon/kernel_access.hpp"
#include "kernel/kernel_monitor.hpp"
#include "kernel/reconciler.hpp"

namespace headway {

class KernelWatch {
public:
    /// The references must outlive the watch.  `monitor` must have been opened
    /// before the kernel was set up, so that no change is missed.
    [[nodiscard]] static Result<std::unique_ptr<KernelWatch>> start(
        sd_event* event, KernelMonitor monitor, const KernelAccess& access,
        ControlService& service, Reconciler& reconciler, spdlog::logger& log);
    KernelWatch(const KernelWatch&) = delete;
    KernelWatch& operator=(const KernelWatch&) = delete;
    ~KernelWatch() = default;

    /// Called after what others have done to the device.
    void look_also_with(std::function<void()> look) { look_also_ = std::move(look); }

    /// Lets the rates of an earlier run go, once its clients have had the time to
    /// say what they want.
    void release_adopted_later();

private:
    KernelWatch(KernelMonitor monitor, const KernelAccess& access, ControlService& service,
                Reconciler& reconciler, spdlog::logger& log);

    Result<void> watch(sd_event* event);
    void listen();
    void release_adopted();
    void run_if_due();
    void tell(const KernelDiff& diff);
    void tell_link(BytesPerSecond before);

    static int on_news(sd_event_source*, int, std::uint32_t, void* watch);
    static int on_due(sd_event_source*, std::uint64_t, void* watch);
    static int on_release(sd_event_source*, std::uint64_t, void* watch);

    KernelMonitor monitor_;
    const KernelAccess& access_;
    ControlService& service_;
    Reconciler& reconciler_;
    spdlog::logger& log_;
    std::string device_;
    EventSource news_;
    EventSource due_;
    EventSource release_;
    std::string last_error_;
    std::function<void()> look_also_ = [] {};
};

}  // namespace headway

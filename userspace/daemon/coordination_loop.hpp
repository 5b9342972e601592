// SPDX-License-Identifier: Apache-2.0
// The coordinator in an sd-event loop: its timer, and headway-etcd.
#pragma once

#include <memory>
#include <optional>

#include <spdlog/fwd.h>

#include "daemon/control_service.hpp"
#include "daemon/etcd_process.hpp"
#include "daemon/event_source.hpp"
#include "kernel/reconciler.hpp"
#include "trunk/coordinator.hpp"

namespace headway {

class BootClock final : public Clock {
public:
    [[nodiscard]] std::chrono::nanoseconds now() const override;
};

class CoordinationLoop {
public:
    /// Takes the node down to its fallback; what it may use beyond that comes when
    /// the others agree.  The references must outlive the loop.
    [[nodiscard]] static Result<std::unique_ptr<CoordinationLoop>> start(
        sd_event* event, ControlService& service, TrafficControl& kernel, Reconciler& reconciler,
        spdlog::logger& log);
    CoordinationLoop(const CoordinationLoop&) = delete;
    CoordinationLoop& operator=(const CoordinationLoop&) = delete;
    /// Down to the fallback, and the lease is given back.
    ~CoordinationLoop();

private:
    CoordinationLoop(ControlService& service, TrafficControl& kernel, Reconciler& reconciler,
                     spdlog::logger& log);
    Result<void> begin(sd_event* event);
    void tick();
    void divide_later();

    static int on_tick(sd_event_source*, std::uint64_t, void* loop);
    static int on_divide(sd_event_source*, void* loop);

    ControlService& service_;
    Reconciler& reconciler_;
    spdlog::logger& log_;
    BootClock clock_;
    std::unique_ptr<EtcdProcess> process_;  ///< none: not started yet
    Coordinator coordinator_;
    std::chrono::nanoseconds tick_every_;
    EventSource timer_;
    EventSource divide_;  ///< the jobs' rates follow when there is nothing more urgent
};

/// headway-etcd's command line.  It is beside the program that runs.
[[nodiscard]] std::vector<std::string> etcd_command(const CoordinationConfig& config,
                                                    const std::string& trunk,
                                                    const std::string& host);

}  // namespace headway

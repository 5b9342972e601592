// SPDX-License-Identifier: Apache-2.0
// The coordinator in an sd-event loop: its timer, and headway-etcd.
#pragma once

#include <string>
#include <vector>

#include <spdlog/fwd.h>

#include "daemon/control_service.hpp"
#include "daemon/etcd_process.hpp"
#include "daemon/event_loop.hpp"
#include "kernel/reconciler.hpp"
#include "trunk/coordinator.hpp"

namespace headway {

class BootClock final : public Clock {
public:
    [[nodiscard]] std::chrono::nanoseconds now() const override;
};

class CoordinationLoop {
public:
    /// Coordinates the trunk that the planner shares; `command` starts headway-etcd.  The references must
    /// outlive the loop.
    CoordinationLoop(EventLoop& loop, ControlService& service, TrafficControl& kernel,
                     Reconciler& reconciler, spdlog::logger& log, std::vector<std::string> command);
    /// Down to the fallback, and the lease is given back.
    ~CoordinationLoop();

    /// Takes the node down to its fallback; what it may use beyond that comes when
    /// the others agree.
    [[nodiscard]] Result<void> start();

private:
    void tick();
    void tell_jobs();
    void divide_later();

    ControlService& service_;
    Reconciler& reconciler_;
    spdlog::logger& log_;
    BootClock clock_;
    HostNumbers hosts_;
    EtcdProcess process_;
    Coordinator coordinator_;
    std::optional<std::uint64_t> jobs_of_;  ///< ControlService::job_changes() when jobs were told last
    std::chrono::nanoseconds tick_every_;
    EventSource timer_;
    EventSource tell_;     ///< tells jobs that have changed, when there is nothing more urgent
    EventSource changed_;  ///< sees that they have
    EventSource divide_;   ///< the jobs' rates follow when there is nothing more urgent
};

/// headway-etcd's command line.  It is beside the program that runs.
[[nodiscard]] std::vector<std::string> etcd_command(const CoordinationConfig& config,
                                                    const std::string& trunk,
                                                    const std::string& host);

}  // namespace headway

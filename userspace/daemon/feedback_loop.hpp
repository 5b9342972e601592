// SPDX-License-Identifier: Apache-2.0
// Once a second: what paced connections lost, and plans that follow from it.
#pragma once

#include <optional>

#include <spdlog/fwd.h>

#include "daemon/control_service.hpp"
#include "daemon/divisor_control.hpp"
#include "daemon/event_loop.hpp"
#include "kernel/netlink_exchange.hpp"
#include "look/tcp_counters.hpp"

namespace headway {

/// All of it but the clock and the kernel.
class Feedback {
public:
    Feedback(ControlService& service, const FeedbackBounds& bounds, spdlog::logger& log);
    Feedback(Feedback&&) = delete;
    ~Feedback();

    /// Compares the counts with those of the last look, `interval` ago.
    void look(std::span<const TcpFlow> flows, std::optional<std::uint64_t> node_timeouts,
              std::chrono::nanoseconds interval);
    /// The kernel did not say.
    void look_failed(const Error& error);

    /// "feedback" of the status.
    [[nodiscard]] Json status() const;

private:
    ControlService& service_;
    spdlog::logger& log_;
    FlowCounts counts_;
    DivisorControl control_;
    FlowLosses all_;  ///< since it began
    bool has_told_bound_ = false;
    bool has_told_failure_ = false;
};

class FeedbackLoop {
public:
    /// The references must outlive the loop.
    FeedbackLoop(EventLoop& loop, ControlService& service, spdlog::logger& log);
    FeedbackLoop(FeedbackLoop&&) = delete;

    /// The service's configuration may be another: feedback begins, ends, or begins anew;
    /// the latter two let plans trust the configuration again.
    void configured();

private:
    void tick();
    Result<std::vector<TcpFlow>> read_flows();

    ControlService& service_;
    spdlog::logger& log_;
    EventSource timer_;
    SteadyClock clock_;
    std::chrono::nanoseconds looked_at_{};
    std::optional<MnlTransport> sockets_;
    std::optional<FeedbackBounds> bounds_;
    std::optional<Feedback> feedback_;  ///< none: not enabled
};

}  // namespace headway

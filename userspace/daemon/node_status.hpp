// SPDX-License-Identifier: Apache-2.0
// What "status" tells of the daemon beside clients, jobs and classes: what paces, how the kernel
// and the loops of coordination and feedback are, and how long requests took.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "kernel/reconciler.hpp"
#include "protocol/protocol.hpp"

namespace headway {

/// How long something took, over the life of the daemon.
struct LatencyStats {
    std::uint64_t count = 0;
    std::chrono::nanoseconds last{0};
    std::chrono::nanoseconds max{0};
    std::chrono::nanoseconds total{0};

    void add(std::chrono::nanoseconds took) {
        ++count;
        last = took;
        total += took;
        max = std::max(max, took);
    }
};

class NodeStatus {
public:
    explicit NodeStatus(const Clock& clock) : clock_(clock), started_(clock.now()) {}

    /// Notes what paces, and why: gap frames ("gap"), the qdisc's timer ("timer"), "bpf" or "fq".
    void use_backend(std::string backend, std::string why) {
        backend_ = std::move(backend);
        backend_reason_ = std::move(why);
    }
    [[nodiscard]] const std::string& backend() const { return backend_; }

    /// `status` must outlive this object.
    void show(const ReconcileStatus& status) { reconciled_ = &status; }
    [[nodiscard]] bool is_reconciled() const { return reconciled_ == nullptr || !reconciled_->error; }
    /// The function that fills "coordination" or "feedback" of the answer; null: there is none.
    void show_coordination(std::function<Json()> look) { coordination_ = std::move(look); }
    void show_feedback(std::function<Json()> look) { feedback_ = std::move(look); }
    /// The function that says whether pacing rests; null: it never does.
    void show_rest(std::function<bool()> look) { rests_ = std::move(look); }
    /// Adds the time that a request took; kinds without RequestKind::timed_as are not told.
    void add_latency(std::string_view timed_as, std::chrono::nanoseconds took) {
        if (!timed_as.empty()) latencies_[timed_as].add(took);
    }

    /// Into "daemon" of the answer.
    void tell_daemon(Json& daemon) const;
    /// Into the answer itself.
    void tell(Json& answer) const;

private:
    const Clock& clock_;
    std::chrono::nanoseconds started_;
    std::string backend_ = "timer";
    std::string backend_reason_ = "gap frames were not tested";
    const ReconcileStatus* reconciled_ = nullptr;
    std::function<Json()> coordination_;
    std::function<Json()> feedback_;
    std::function<bool()> rests_;
    std::map<std::string_view, LatencyStats> latencies_;  ///< by RequestKind::timed_as
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "daemon/node_status.hpp"

#include <unistd.h>

#include <vector>

#include <nlohmann/json.hpp>

#include "base/limits.hpp"
#include "base/version.hpp"

namespace headway {
namespace {

double in_microseconds(std::chrono::nanoseconds duration) {
    return static_cast<double>(duration.count()) / 1000.0;
}

Json latency_json(const LatencyStats& stats) {
    const auto mean = stats.total / std::max<std::uint64_t>(stats.count, 1);
    return {{"count", stats.count},
            {"last_us", in_microseconds(stats.last)},
            {"mean_us", in_microseconds(mean)},
            {"max_us", in_microseconds(stats.max)}};
}

Json reconcile_json(const ReconcileStatus& status) {
    const auto told = static_cast<std::ptrdiff_t>(std::min(status.failed.size(), failed_in_status_max));
    return {{"passes", status.passes},
            {"mended", status.mended},
            {"error", status.error ? Json(status.error->message) : Json(nullptr)},
            {"failed_count", status.failed.size()},
            {"failed", std::vector<std::string>(status.failed.begin(), status.failed.begin() + told)}};
}

}  // namespace

void NodeStatus::tell_daemon(Json& daemon) const {
    daemon["version"] = version;
    daemon["pid"] = getpid();
    daemon["uptime_s"] = std::chrono::duration<double>(clock_.now() - started_).count();
    daemon["backend"] = backend_;
    daemon["backend_reason"] = backend_reason_;
    daemon["resting"] = rests_ && rests_();
}

void NodeStatus::tell(Json& answer) const {
    answer["reconcile"] = reconciled_ == nullptr ? Json(nullptr) : reconcile_json(*reconciled_);
    answer["coordination"] = coordination_ ? coordination_() : Json(nullptr);
    answer["feedback"] = feedback_ ? feedback_() : Json(nullptr);
    for (const char* timed : {"enter", "leave", "phase"}) {
        const auto known = latencies_.find(timed);
        answer[timed] = latency_json(known == latencies_.end() ? LatencyStats{} : known->second);
    }
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// What headway-exporter shows: the daemon's status and the node's counters as
// Prometheus' metrics.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

#include <nlohmann/json.hpp>

#include "kernel/kernel_layout.hpp"
#include "kernel/traffic_control.hpp"
#include "look/tcp_counters.hpp"
#include "protocol/protocol.hpp"

namespace headway {

/// A class that will be there, before anybody has seen it.
struct ExportedClass {
    std::string classid;
    std::string cluster;
};

/// The result of one look at the node.
struct ExportedState {
    std::optional<Json> status;  ///< none: the daemon does not answer
    std::optional<TcpCounters> tcp;
    std::optional<GapCounters> gaps;
};

/// Every answer has the same series, from the first on.  While the daemon does not answer, its
/// values are the last that it told, or 0, and headway_up is 0.
class ExporterMetrics {
public:
    explicit ExporterMetrics(std::vector<ExportedClass> classes) : classes_(std::move(classes)) {}

    [[nodiscard]] std::vector<prometheus::MetricFamily> families(const ExportedState& state);

private:
    std::vector<ExportedClass> classes_;
    Json last_ = Json::object();  ///< status
    TcpCounters tcp_;
    GapCounters gaps_{};
};

}  // namespace headway

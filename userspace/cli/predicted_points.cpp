// SPDX-License-Identifier: Apache-2.0
#include "cli/predicted_points.hpp"

#include <algorithm>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/text_lines.hpp"
#include "base/units.hpp"
#include "cli/plan_output.hpp"

namespace headway {

void print_points_text(std::string_view what, const std::vector<std::string>& what_if,
                       const std::vector<PredictedPoint>& points) {
    if (!what_if.empty()) fmt::print("what if {}\n", fmt::join(what_if, ", "));
    for (const PredictedPoint& point : points) {
        fmt::print("{} of {}", what, counted(point.hosts, "host"));
        if (point.message_bytes) {
            fmt::print(", {} per pair of ranks", byte_size_to_text(*point.message_bytes));
        }
        fmt::print("\n");
        std::size_t width = 0;
        bool has_range = false;
        for (const ModelTime& time : point.models.times) {
            width = std::max(width, time.model.size());
            has_range |= time.high_s > time.low_s;
        }
        for (const ModelTime& time : point.models.times) {
            fmt::print("  {:<{}}  {:<22}  {}\n", time.model, width,
                       prediction_range_text(time.low_s, time.high_s), time.reason);
        }
        if (has_range) fmt::print("  A range is from no time-out to as many as lost packets may cost.\n");
        for (const std::string& reason : point.models.left_out) {
            fmt::print("  left out: {}\n", reason);
        }
        fmt::print("\n");
    }
}

Json model_times_json(const ModelTimes& models) {
    Json list = Json::array();
    for (const ModelTime& time : models.times) {
        list.push_back({{"model", time.model}, {"low_s", time.low_s}, {"high_s", time.high_s}, {"reason", time.reason}});
    }
    return list;
}

void print_points_json(std::string_view what, const std::vector<std::string>& what_if,
                       const std::vector<PredictedPoint>& points) {
    Json list = Json::array();
    for (const PredictedPoint& point : points) {
        list.push_back({{"message_bytes", point.message_bytes ? Json(*point.message_bytes)
                                                              : Json(nullptr)},
                        {"hosts", point.hosts},
                        {"models", model_times_json(point.models)},
                        {"left_out", point.models.left_out}});
    }
    Json json{{"operation", what}, {"points", std::move(list)}};
    if (!what_if.empty()) json["what_if"] = what_if;
    fmt::print("{}\n", json_text(json, 2));
}

Chart points_chart(std::string_view what, const std::vector<PredictedPoint>& points,
                   bool over_hosts) {
    using Scale = ChartAxis::Scale;
    Chart chart;
    chart.title = over_hosts ? fmt::format("{} of {} per pair of ranks", what,
                                           byte_size_to_text(*points.front().message_bytes))
                             : fmt::format("{} of {}", what, counted(points.front().hosts, "host"));
    chart.x = over_hosts ? ChartAxis{"hosts", Scale::linear, ChartAxis::Unit::none}
                         : ChartAxis{"message size", Scale::logarithmic, ChartAxis::Unit::bytes};
    chart.y = {"predicted time", Scale::logarithmic, ChartAxis::Unit::seconds};
    for (const PredictedPoint& point : points) {
        const double x = over_hosts ? point.hosts : static_cast<double>(*point.message_bytes);
        for (const ModelTime& time : point.models.times) {
            auto series = std::find_if(chart.series.begin(), chart.series.end(),
                                       [&](const auto& one) { return one.name == time.model; });
            if (series == chart.series.end()) {
                series = chart.series.insert(series, {time.model, {}});
            }
            series->points.push_back({x, time.low_s, time.high_s});
        }
    }
    return chart;
}

}  // namespace headway

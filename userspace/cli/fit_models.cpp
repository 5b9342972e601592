// SPDX-License-Identifier: Apache-2.0
#include "cli/fit_models.hpp"

#include <algorithm>
#include <limits>

#include "base/text_lines.hpp"
#include "models/contention_fit.hpp"
#include "models/many_to_one_fit.hpp"
#include "models/plogpt_measure.hpp"

namespace headway {
namespace {

constexpr std::size_t samples_max = 100'000;
constexpr std::uint64_t processes_max = std::uint64_t{1} << 32;
constexpr unsigned heights_max = 20;

Chart size_chart(std::string title) {
    Chart chart;
    chart.title = std::move(title);
    chart.x = {"message size", ChartAxis::Scale::logarithmic, ChartAxis::Unit::bytes};
    chart.y = {"time", ChartAxis::Scale::logarithmic, ChartAxis::Unit::seconds};
    chart.series = {{"measured", {}}, {"fitted", {}}};
    return chart;
}

void add_point(Chart& chart, double bytes, double measured_s, double fitted_s) {
    chart.series[0].points.push_back({bytes, measured_s, measured_s});
    chart.series[1].points.push_back({bytes, fitted_s, fitted_s});
}

/// Pairs of numbers, such as [[m, T], ...].
std::vector<std::vector<double>> read_rows(const EvalValue& value, std::size_t width) {
    std::vector<std::vector<double>> rows(value.size(1, samples_max));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i] = value[i].numbers(width, width, Sign::not_negative);
        if (rows[i].empty()) return {};
    }
    return rows;
}

TimeCovariance read_variances(const EvalValue& value, std::size_t samples) {
    return value.numbers(samples, samples, Sign::positive);
}

EvalJson or_null(const std::optional<double>& value) {
    return value ? EvalJson(*value) : EvalJson(nullptr);
}

std::string_view saturation_name(Saturation verdict) {
    switch (verdict) {
        case Saturation::saturated: return "saturated";
        case Saturation::unsaturated: return "unsaturated";
        case Saturation::unknown: break;
    }
    return "unknown";
}

void check_scaling(FitReport& report, const ContentionFit& fitted,
                   const ContentionMeasurement& measured,
                   const std::vector<std::vector<double>>& rows) {
    std::vector<ScalingSample> samples;
    for (const auto& row : rows) {
        samples.push_back({static_cast<std::uint64_t>(row[0]), row[1], row[2]});
    }
    const SaturationCheck check =
        check_saturation(fitted.signature, measured.cost, measured.processes, samples);
    report.found["saturation"] = saturation_name(check.verdict);
    report.found["worst_error_pct"] = check.worst_error_percent;
    report.remarks.push_back(check.reason);
}

}  // namespace

FitResult fit_contention_json(const EvalJson& input, const ModelProgress& progress) {
    EvalInput in(input);
    ContentionMeasurement measured;
    measured.processes = in["n"].count(2, processes_max);
    measured.cost.startup_s = in["alpha"].number(Sign::not_negative);
    measured.cost.per_byte_s = in["beta"].number(Sign::positive);
    for (const auto& row : read_rows(in["samples"], 2)) measured.samples.push_back({row[0], row[1]});
    std::optional<double> threshold;
    if (in.has("M")) threshold = in["M"].number_or_infinite(Sign::not_negative);
    if (in.has("cov")) measured.covariance = read_variances(in["cov"], measured.samples.size());
    std::vector<std::vector<double>> scaling;
    if (in.has("scaling")) scaling = read_rows(in["scaling"], 3);
    if (auto error = in.finish()) return tl::unexpected(*error);

    const auto fitted = threshold ? fit_contention(measured, *threshold)
                                  : fit_contention_threshold(measured, progress);
    if (!fitted) return tl::unexpected(fitted.error().message);
    FitReport report;
    report.found = {{"model", "contention"},
                    {"n", measured.processes},
                    {"alpha", measured.cost.startup_s},
                    {"beta", measured.cost.per_byte_s},
                    {"gamma", fitted->signature.ratio},
                    {"delta_s", fitted->signature.startup_s},
                    {"M_bytes", fitted->signature.threshold_bytes},
                    {"gamma_standard_error", or_null(fitted->ratio_error)},
                    {"delta_standard_error_s", or_null(fitted->startup_error_s)},
                    {"error_pct", fitted->error_percent},
                    {"good", fitted->good()}};
    if (!fitted->good()) {
        report.remarks.push_back(fmt::format("nobody can rely on a fit of {}; measure at least {} sizes",
                                             counted(fitted->samples_used, "sample"), contention_samples_min));
    }
    if (scaling.empty()) {
        report.remarks.emplace_back("whether the network was saturated, and the signature holds for "
                                    "more processes, only measurements with more can tell");
    } else {
        check_scaling(report, *fitted, measured, scaling);
    }
    report.chart = size_chart(fmt::format("all-to-all of {} processes", measured.processes));
    std::sort(measured.samples.begin(), measured.samples.end(),
              [](const auto& a, const auto& b) { return a.message_bytes < b.message_bytes; });
    for (const AllToAllSample& sample : measured.samples) {
        add_point(report.chart, sample.message_bytes, sample.time_s,
                  alltoall_contended_s(measured.processes, sample.message_bytes, measured.cost,
                                       fitted->signature));
    }
    return report;
}

FitResult fit_many_to_one_json(const EvalJson& input, const ModelProgress& progress) {
    EvalInput in(input);
    const EvalValue hosts = in["sources"];
    std::vector<DelayedPath> sources(hosts.size(1, samples_max));
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const EvalValue host = hosts[i];
        if (!host.is_object_of({"C", "t"})) break;
        sources[i].host.fixed_s = host.member("C").number(Sign::not_negative);
        sources[i].host.per_byte_s = host.member("t").number(Sign::not_negative);
    }
    const auto rates = in["rates"].numbers(sources.size(), sources.size(), Sign::positive);
    for (std::size_t i = 0; i < rates.size(); ++i) sources[i].rate_bytes_per_s = rates[i];
    std::vector<ManyToOneSample> samples;
    for (const auto& row : read_rows(in["samples"], 2)) samples.push_back({row[0], row[1]});
    const bool counted = in.has("idle") && in["idle"].boolean();
    if (auto error = in.finish()) return tl::unexpected(*error);

    const auto fitted = fit_many_to_one(
        sources, std::move(samples), counted ? ReceiverIdle::counted : ReceiverIdle::ignored,
        progress);
    if (!fitted) return tl::unexpected(fitted.error().message);
    FitReport report;
    report.found = {{"model", "manytoone"},
                    {"sources", input["sources"]},
                    {"rates", input["rates"]},
                    {"M1_bytes", fitted->regions.small_bytes},
                    {"M2_bytes", fitted->regions.large_bytes},
                    {"C_s", fitted->regions.congested_s},
                    {"delta1", fitted->regions.small_factor},
                    {"delta2", fitted->regions.large_factor},
                    {"congested", fitted->congested},
                    {"error_pct", fitted->error_percent}};
    if (!fitted->congested) {
        report.remarks.emplace_back("no region of congestion stands out of the measurements");
    }
    report.chart = size_chart(fmt::format("many to one, {} sources", sources.size()));
    for (std::size_t i = 0; i < fitted->samples.size(); ++i) {
        const ManyToOneSample& sample = fitted->samples[i];
        add_point(report.chart, sample.message_bytes, sample.time_s,
                  sample.time_s / (1 + fitted->error_percent[i] / 100));
    }
    return report;
}

/// Soon over, so that it needs no progress.
FitResult fit_plogpt_json(const EvalJson& input, const ModelProgress&) {
    EvalInput in(input);
    const double empty_gap_s = in["empty_gap_s"].number(Sign::not_negative);
    std::vector<RoundTrip> trips;
    for (const auto& row : read_rows(in["round_trips"], 2)) trips.push_back({row[0], row[1]});
    const bool both_ways = in["both_ways"].boolean();
    const EvalValue listed = in["heights"];
    std::vector<HeightMeasurement> heights(listed.size(1, heights_max));
    for (std::size_t h = 0; h < heights.size(); ++h) {
        const EvalValue height = listed[h];
        if (!height.is_object_of({"pair_bandwidths_bytes_per_s", "idle_latency_s",
                                  "loaded_latency_s"})) {
            break;
        }
        heights[h].pair_bandwidths_bytes_per_s =
            height.member("pair_bandwidths_bytes_per_s").numbers(1, samples_max, Sign::positive);
        heights[h].idle_latency_s = height.member("idle_latency_s").number(Sign::not_negative);
        heights[h].loaded_latency_s = height.member("loaded_latency_s").number(Sign::not_negative);
    }
    if (auto error = in.finish()) return tl::unexpected(*error);

    const auto plogp = plogp_from_round_trips(empty_gap_s, trips);
    if (!plogp) return tl::unexpected(plogp.error().message);
    const auto links = plogpt_links_from_bursts(
        heights, both_ways ? BurstDirection::both_ways : BurstDirection::one_way);
    if (!links) return tl::unexpected(links.error().message);
    FitReport report;
    EvalJson gap = EvalJson::array();
    std::sort(trips.begin(), trips.end(),
              [](const auto& a, const auto& b) { return a.message_bytes < b.message_bytes; });
    report.chart = size_chart("round trips, and the gap that follows");
    report.chart.series[1].name = "gap g(m)";
    for (const RoundTrip& trip : trips) {
        const double gap_s = plogp->gap(trip.message_bytes);
        gap.push_back({trip.message_bytes, gap_s});
        add_point(report.chart, trip.message_bytes, trip.round_trip_s, gap_s);
    }
    report.found = {{"model", "plogpt"},
                    {"L", plogp->latency_s},
                    {"gap", std::move(gap)},
                    {"b", links->bandwidth_bytes_per_s},
                    {"d", links->buffer_delay_s}};
    return report;
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// The contention signatures of models/contention.hpp.
#include "eval_interface.hpp"
#include "models/contention.hpp"
#include "models/contention_fit.hpp"

namespace headway {
namespace {

constexpr std::uint64_t processes_max = 1'000'000'000;
constexpr std::size_t matrix_max = 4096;
// A full covariance is factorised in cubic time.
constexpr std::size_t samples_max = 100'000;
constexpr std::size_t covariance_max = 1000;

TransmissionCost read_cost(EvalInput& in) {
    const double startup_s = in["alpha"].number(Sign::not_negative);
    return {startup_s, in["beta"].number(Sign::not_negative)};
}

std::vector<std::vector<double>> read_matrix(const EvalValue& value, std::size_t least,
                                             std::size_t most, Sign sign) {
    std::vector<std::vector<double>> rows(value.size(least, most));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i] = value[i].numbers(rows.size(), rows.size(), sign);
    }
    return rows;
}

EvalResult exchange_bound(const EvalJson& input) {
    EvalInput in(input);
    const auto bytes = read_matrix(in["w"], 1, matrix_max, Sign::not_negative);
    const TransmissionCost cost = read_cost(in);
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto time = exchange_bound_s(bytes, cost);
    if (!time) return tl::unexpected(time.error().message);
    return EvalJson{{"time", *time}};
}

EvalResult predict(const EvalJson& input) {
    EvalInput in(input);
    const auto processes = in["n"].count(1, processes_max);
    const double size = in["m"].number(Sign::not_negative);
    const TransmissionCost cost = read_cost(in);
    ContentionSignature signature;
    signature.threshold_bytes = in["M"].number_or_infinite(Sign::not_negative);
    signature.ratio = in["gamma"].number();
    signature.startup_s = in["delta"].number();
    if (auto error = in.finish()) return tl::unexpected(*error);
    return EvalJson{{"lower_bound", alltoall_bound_s(processes, size, cost)},
                    {"time", alltoall_contended_s(processes, size, cost, signature)}};
}

/// null, a list of variances, or a matrix.
TimeCovariance read_covariance(const EvalValue& value, std::size_t samples) {
    if (value.is_null()) return {};
    if (value.size(samples, samples) != 0 && value[0].is_array()) {
        return read_matrix(value, 1, covariance_max, Sign::any);
    }
    return value.numbers(samples, samples, Sign::positive);
}

EvalResult fit(const EvalJson& input) {
    EvalInput in(input);
    ContentionMeasurement measured;
    const EvalValue samples = in["samples"];
    measured.samples.resize(samples.size(1, samples_max));
    for (std::size_t i = 0; i < measured.samples.size(); ++i) {
        const auto sample = samples[i].numbers(2, 2, Sign::not_negative);
        if (sample.empty()) break;
        measured.samples[i] = {sample[0], sample[1]};
    }
    measured.processes = in["n"].count(2, processes_max);
    measured.cost = read_cost(in);
    const double threshold = in["M"].number_or_infinite(Sign::not_negative);
    if (in.has("cov")) measured.covariance = read_covariance(in["cov"], measured.samples.size());
    SampleChoice choice = SampleChoice::all;
    if (in.has("which") && in["which"].choice({"all", "large"}) == 1) {
        choice = SampleChoice::from_threshold;
    }
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto fitted = fit_contention(measured, threshold, choice);
    if (!fitted) return tl::unexpected(fitted.error().message);
    return EvalJson{{"gamma", fitted->signature.ratio},
                    {"delta", fitted->signature.startup_s},
                    {"error_pct", fitted->error_percent}};
}

EvalResult two_cluster(const EvalJson& input) {
    EvalInput in(input);
    const double first_s = in["T1"].number(Sign::not_negative);
    const double second_s = in["T2"].number(Sign::not_negative);
    const auto first = in["n1"].count(1, processes_max);
    const auto second = in["n2"].count(1, processes_max);
    const double startup_s = in["alpha_w"].number(Sign::not_negative);
    const double per_byte_s = in["beta_w"].number(Sign::not_negative);
    const double size = in["m"].number(Sign::not_negative);
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto exchange =
        two_cluster_exchange({first_s, second_s}, {first, second}, {startup_s, per_byte_s}, size);
    if (!exchange) return tl::unexpected(exchange.error().message);
    return EvalJson{{"literal", exchange->literal_s},
                    {"packed_min", exchange->packed_s},
                    {"messages", {exchange->two_phase_messages, exchange->traditional_messages}}};
}

constexpr EvalOperation operations[] = {
    {"contention", "exchange_bound", exchange_bound},
    {"contention", "predict", predict},
    {"contention", "fit", fit},
    {"contention", "two_cluster", two_cluster},
};

}  // namespace

std::span<const EvalOperation> eval_contention_operations() { return operations; }

}  // namespace headway

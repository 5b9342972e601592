// SPDX-License-Identifier: Apache-2.0
// Finding a contention signature (contention.hpp) from measured all-to-alls.
//
// Source: Steffenel et al., section 6: linear regression by generalised least
// squares over at least four points.
//
// Vocabulary: contention.hpp, and
//   T          measured time of an all-to-all of n processes and m bytes, s
//   Sigma      covariance of the T's, s^2
//   OLS, GLS   ordinary, generalised least squares
//
// Equations
//   y = T/(n - 1) - alpha             what (5) leaves to explain
//   x = [m beta, 1{m >= M}]           y = x . (gamma, delta) + noise
//   GLS minimises (y - X c)' V^-1 (y - X c) with V = Sigma / (n - 1)^2, and
//       cov(c) = (X' V^-1 X)^-1
//   OLS is GLS with V = s^2 I, where s^2 is estimated: residuals squared / (N - p)
//   error % = 100 (T / predicted - 1)
//   M, if it has to be chosen: that of the measured sizes which leaves the least
//       weighted squares, but not the largest, whose error delta would be; none
//       if delta is within five times its standard error of 0, as several sizes
//       are tried.  Without a covariance, errors in proportion to T are assumed
//       for this choice: with equal ones, those of the largest messages decide,
//       and look like a threshold.
//
// Saturation: gamma is a property of the network only where that is saturated.
// A fit made below saturation underestimates larger exchanges by more the
// larger they are (the paper's Myrinet: fitted with 24, saturated from 40).  It
// shows in measurements with more processes than the fit's, and only there.
//
// Example: n = 11, alpha = 0, beta = 1 us/byte, M = 1000; T(500) = 10 ms and
// T(1000) = 50 ms.  y = 1 ms and 5 ms, so gamma = 1 ms / 0.5 ms = 2, and delta =
// 5 ms - 2 x 1 ms = 3 ms (from two samples: exact, and not `good`).
//
// Limits: sizes must differ enough to tell gamma from delta.  If no sample
// reaches M, delta is unknown and reported as 0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/model_progress.hpp"
#include "models/contention.hpp"

namespace headway {

struct AllToAllSample {
    double message_bytes = 0;
    double time_s = 0;
};

/// The known errors of the measurements: none (OLS), the variance of each, or the covariance of
/// all.  They are of the times, in s^2.
using TimeCovariance =
    std::variant<std::monostate, std::vector<double>, std::vector<std::vector<double>>>;

/// Fewer samples give a fit that is not `good`.
inline constexpr std::size_t contention_samples_min = 4;

enum class SampleChoice { all, from_threshold };

struct ContentionMeasurement {
    std::uint64_t processes = 0;  ///< at least 2
    TransmissionCost cost;        ///< measured point to point
    std::vector<AllToAllSample> samples;
    TimeCovariance covariance;
};

struct ContentionFit {
    ContentionSignature signature;
    /// Standard errors; none without a covariance and without a sample to spare.
    std::optional<double> ratio_error;
    std::optional<double> startup_error_s;
    std::vector<double> error_percent;  ///< of every sample, used or not
    double weighted_squares = 0;        ///< what the fit has minimised
    std::size_t samples_used = 0;

    [[nodiscard]] bool good() const { return samples_used >= contention_samples_min; }
};

/// gamma and delta for a given M.
[[nodiscard]] Result<ContentionFit> fit_contention(const ContentionMeasurement& measured,
                                                   double threshold_bytes,
                                                   SampleChoice choice = SampleChoice::all);

/// M as well.
[[nodiscard]] Result<ContentionFit> fit_contention_threshold(
    const ContentionMeasurement& measured, const ModelProgress& progress = {});

/// An all-to-all of another number of processes.
struct ScalingSample {
    std::uint64_t processes = 0;
    double message_bytes = 0;
    double time_s = 0;
};

enum class Saturation { saturated, unsaturated, unknown };

struct SaturationCheck {
    Saturation verdict = Saturation::unknown;
    /// Mean error of the number of processes that is predicted worst.
    double worst_error_percent = 0;
    /// From this many processes on the error stays as it is; 0: unknown.
    std::uint64_t steady_from = 0;
    std::string reason;
};

/// Whether a signature that was fitted with `fitted_processes` holds for more.
/// Mean errors up to `tolerance_percent` are the model's (the paper: 10 %).
[[nodiscard]] SaturationCheck check_saturation(const ContentionSignature& signature,
                                               const TransmissionCost& cost,
                                               std::uint64_t fitted_processes,
                                               std::span<const ScalingSample> samples,
                                               double tolerance_percent = 10);

}  // namespace headway

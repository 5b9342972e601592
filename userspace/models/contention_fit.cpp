// SPDX-License-Identifier: Apache-2.0
#include "models/contention_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <Eigen/Cholesky>
#include <Eigen/QR>

namespace headway {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

/// y = X c, of the samples that take part.
struct Regression {
    Matrix x;
    Vector y;
};

struct Solution {
    Vector coefficients;
    Matrix inverse_normal;  ///< (X' X)^-1 of the whitened X
    double squares = 0;
};

std::vector<std::size_t> chosen_samples(const ContentionMeasurement& measured,
                                        double threshold_bytes, SampleChoice choice) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < measured.samples.size(); ++i) {
        if (choice == SampleChoice::all || measured.samples[i].message_bytes >= threshold_bytes) {
            chosen.push_back(i);
        }
    }
    return chosen;
}

/// One column if no sample reaches the threshold, else two.
Regression regression(const ContentionMeasurement& measured, double threshold_bytes,
                      const std::vector<std::size_t>& chosen) {
    const auto rows = static_cast<Eigen::Index>(chosen.size());
    Regression result{Matrix::Zero(rows, 2), Vector::Zero(rows)};
    bool reached = false;
    for (Eigen::Index row = 0; row < rows; ++row) {
        const AllToAllSample& sample = measured.samples[chosen[static_cast<std::size_t>(row)]];
        const bool large = sample.message_bytes >= threshold_bytes;
        reached = reached || large;
        result.x(row, 0) = sample.message_bytes * measured.cost.per_byte_s;
        result.x(row, 1) = large ? 1 : 0;
        result.y(row) = sample.time_s / static_cast<double>(measured.processes - 1) -
                        measured.cost.startup_s;
    }
    if (!reached) result.x.conservativeResize(Eigen::NoChange, 1);
    return result;
}

Result<Matrix> square_matrix(const std::vector<std::vector<double>>& rows,
                             const std::vector<std::size_t>& chosen) {
    const auto size = static_cast<Eigen::Index>(chosen.size());
    Matrix matrix(size, size);
    for (const auto& row : rows) {
        if (row.size() != rows.size()) return failure("the covariance is not square");
    }
    for (Eigen::Index i = 0; i < size; ++i) {
        for (Eigen::Index j = 0; j < size; ++j) {
            const std::size_t a = chosen[static_cast<std::size_t>(i)];
            const std::size_t b = chosen[static_cast<std::size_t>(j)];
            matrix(i, j) = rows[a][b];
            if (std::abs(rows[a][b] - rows[b][a]) >
                1e-9 * std::max(std::abs(rows[a][b]), std::abs(rows[b][a]))) {
                return failure("the covariance is not symmetric: [{}][{}]", a, b);
            }
        }
    }
    return matrix;
}

Result<void> whiten_by_variances(const std::vector<double>& variances,
                                 const std::vector<std::size_t>& chosen, double messages,
                                 Regression& system) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const double variance = variances[chosen[i]];
        if (!(variance > 0)) return failure("variance {} is not positive", chosen[i]);
        const double deviation = std::sqrt(variance) / messages;
        system.x.row(static_cast<Eigen::Index>(i)) /= deviation;
        system.y(static_cast<Eigen::Index>(i)) /= deviation;
    }
    return {};
}

Result<void> whiten_by_matrix(const Matrix& covariance, double messages, Regression& system) {
    const Eigen::LLT<Matrix> cholesky(covariance / (messages * messages));
    if (cholesky.info() != Eigen::Success) {
        return failure("the covariance is not positive definite");
    }
    cholesky.matrixL().solveInPlace(system.x);
    cholesky.matrixL().solveInPlace(system.y);
    return {};
}

/// Makes the errors of all rows independent and of variance 1.
Result<void> whiten(const ContentionMeasurement& measured, const std::vector<std::size_t>& chosen,
                    Regression& system) {
    const auto messages = static_cast<double>(measured.processes - 1);
    const std::size_t samples = measured.samples.size();
    if (const auto* variances = std::get_if<std::vector<double>>(&measured.covariance)) {
        if (variances->size() != samples) {
            return failure("{} variances for {} samples", variances->size(), samples);
        }
        return whiten_by_variances(*variances, chosen, messages, system);
    }
    if (const auto* rows = std::get_if<2>(&measured.covariance)) {
        if (rows->size() != samples) {
            return failure("a covariance of {} rows for {} samples", rows->size(), samples);
        }
        const auto matrix = square_matrix(*rows, chosen);
        if (!matrix) return tl::unexpected(matrix.error());
        return whiten_by_matrix(*matrix, messages, system);
    }
    return {};
}

/// Columns are scaled first: one holds seconds, the other ones.
Result<Solution> solve(const Regression& system) {
    const Vector scale = system.x.colwise().norm();
    if ((scale.array() <= 0).any()) return failure("every message is empty, or takes no time");
    const Matrix x = system.x * scale.cwiseInverse().asDiagonal();
    Eigen::ColPivHouseholderQR<Matrix> qr(x);
    qr.setThreshold(1e-12);
    if (system.x.rows() < system.x.cols() || qr.rank() < system.x.cols()) {
        return failure("{} samples do not tell ratio and start-up cost apart", system.x.rows());
    }
    Solution solution;
    const Vector scaled = qr.solve(system.y);
    solution.squares = (system.y - x * scaled).squaredNorm();
    solution.coefficients = scaled.cwiseQuotient(scale);
    const Matrix normal = x.transpose() * x;
    const Matrix inverse = normal.llt().solve(Matrix::Identity(x.cols(), x.cols()));
    solution.inverse_normal =
        scale.cwiseInverse().asDiagonal() * inverse * scale.cwiseInverse().asDiagonal();
    return solution;
}

void set_standard_errors(const Solution& solution, bool variance_known, ContentionFit& fit) {
    const auto parameters = static_cast<std::size_t>(solution.coefficients.size());
    if (!variance_known && fit.samples_used <= parameters) return;
    const double variance =
        variance_known ? 1
                       : solution.squares / static_cast<double>(fit.samples_used - parameters);
    fit.ratio_error = std::sqrt(variance * solution.inverse_normal(0, 0));
    if (parameters > 1) fit.startup_error_s = std::sqrt(variance * solution.inverse_normal(1, 1));
}

std::vector<double> errors_percent(const ContentionMeasurement& measured,
                                   const ContentionSignature& signature) {
    std::vector<double> errors;
    errors.reserve(measured.samples.size());
    for (const AllToAllSample& sample : measured.samples) {
        const double predicted = alltoall_contended_s(measured.processes, sample.message_bytes,
                                                      measured.cost, signature);
        errors.push_back(100 * (sample.time_s / predicted - 1));
    }
    return errors;
}

/// Whether delta is more than five standard errors from 0: its square in units of
/// the error's is by how much it has reduced the squares, in units of variance.
bool is_significant(const ContentionFit& without, const ContentionFit& with, bool variance_known) {
    constexpr std::size_t parameters = 2;
    constexpr double errors_min = 5;
    constexpr double rounding = 1e-18;  // of errors in proportion to the times
    if (with.samples_used <= parameters) return false;
    const double estimate =
        with.weighted_squares / static_cast<double>(with.samples_used - parameters);
    const double variance = variance_known ? 1 : std::max(estimate, rounding);
    return without.weighted_squares - with.weighted_squares > errors_min * errors_min * variance;
}

/// Averages the errors, in per cent, for each number of processes.
std::map<std::uint64_t, double> mean_errors_percent(const ContentionSignature& signature,
                                                    const TransmissionCost& cost,
                                                    std::span<const ScalingSample> samples) {
    std::map<std::uint64_t, double> sums;
    std::map<std::uint64_t, double> counts;
    for (const ScalingSample& sample : samples) {
        if (sample.processes < 2) continue;
        const double predicted =
            alltoall_contended_s(sample.processes, sample.message_bytes, cost, signature);
        sums[sample.processes] += 100 * (sample.time_s / predicted - 1);
        ++counts[sample.processes];
    }
    for (auto& [processes, sum] : sums) sum /= counts[processes];
    return sums;
}

}  // namespace

Result<ContentionFit> fit_contention(const ContentionMeasurement& measured, double threshold_bytes,
                                     SampleChoice choice) {
    if (measured.processes < 2) return failure("an exchange needs two processes");
    const auto chosen = chosen_samples(measured, threshold_bytes, choice);
    if (chosen.empty()) return failure("there is no sample to fit");
    Regression system = regression(measured, threshold_bytes, chosen);
    if (auto done = whiten(measured, chosen, system); !done) return tl::unexpected(done.error());
    const auto solution = solve(system);
    if (!solution) return tl::unexpected(solution.error());

    ContentionFit fit;
    const bool has_startup = solution->coefficients.size() > 1;
    fit.signature = {solution->coefficients(0), has_startup ? solution->coefficients(1) : 0,
                     threshold_bytes};
    fit.samples_used = chosen.size();
    fit.weighted_squares = solution->squares;
    set_standard_errors(*solution, measured.covariance.index() != 0, fit);
    fit.error_percent = errors_percent(measured, fit.signature);
    return fit;
}

Result<ContentionFit> fit_contention_threshold(const ContentionMeasurement& measured,
                                               const ModelProgress& progress) {
    const bool variance_known = measured.covariance.index() != 0;
    ContentionMeasurement weighted = measured;
    std::vector<double> sizes;
    std::vector<double> variances;
    for (const AllToAllSample& sample : measured.samples) {
        sizes.push_back(sample.message_bytes);
        variances.push_back(sample.time_s * sample.time_s);
    }
    if (!variance_known) weighted.covariance = std::move(variances);
    const auto without = fit_contention(weighted, std::numeric_limits<double>::infinity());
    if (!without) return without;
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    sizes.pop_back();
    ContentionFit best = *without;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (progress) progress(i, sizes.size());
        const auto fit = fit_contention(weighted, sizes[i]);
        if (fit && is_significant(*without, *fit, variance_known) &&
            fit->weighted_squares < best.weighted_squares) {
            best = *fit;
        }
    }
    return fit_contention(measured, best.signature.threshold_bytes);
}

SaturationCheck check_saturation(const ContentionSignature& signature,
                                 const TransmissionCost& cost, std::uint64_t fitted_processes,
                                 std::span<const ScalingSample> samples,
                                 double tolerance_percent) {
    const auto errors = mean_errors_percent(signature, cost, samples);
    SaturationCheck check;
    if (errors.empty() || errors.rbegin()->first <= fitted_processes) {
        check.reason = fmt::format("nothing was measured with more than {} processes",
                                   fitted_processes);
        return check;
    }
    const auto [most_processes, last_error] = *errors.rbegin();
    for (auto error = errors.rbegin(); error != errors.rend(); ++error) {
        if (std::abs(error->second - last_error) > tolerance_percent) break;
        check.steady_from = error->first;
    }
    for (auto error = errors.upper_bound(fitted_processes); error != errors.end(); ++error) {
        if (std::abs(error->second) > std::abs(check.worst_error_percent)) {
            check.worst_error_percent = error->second;
        }
    }
    if (std::abs(check.worst_error_percent) <= tolerance_percent) {
        check.verdict = Saturation::saturated;
        check.reason = fmt::format("errors stay within {:.3g} % up to {} processes",
                                   tolerance_percent, most_processes);
    } else {
        check.verdict = Saturation::unsaturated;
        check.reason = fmt::format(
            "fitted with {} processes it is {:.3g} % off with more, steady from {} on: fit with "
            "at least that many",
            fitted_processes, check.worst_error_percent, check.steady_from);
    }
    return check;
}

}  // namespace headway

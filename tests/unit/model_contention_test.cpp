// SPDX-License-Identifier: Apache-2.0
// Steffenel's contention signatures: bounds, prediction, fits.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "models/contention.hpp"
#include "models/contention_fit.hpp"

namespace headway::test {
namespace {

constexpr TransmissionCost cost{50e-6, 8e-9};
constexpr double infinite = std::numeric_limits<double>::infinity();

// Claim 3: process 0 sends three messages, process 3 receives the most bytes.
// max(3, 2) alpha + 700 beta.
TEST(Contention, BoundOfAnExchange) {
    const std::vector<std::vector<double>> w{
        {0, 10, 20, 300}, {0, 0, 0, 400}, {5, 0, 0, 0}, {0, 0, 0, 0}};
    EXPECT_DOUBLE_EQ(exchange_bound_s(w, {1, 0.01}).value(), 3 + 7);
    EXPECT_FALSE(exchange_bound_s({{0, 1}, {1}}, cost));
    EXPECT_FALSE(exchange_bound_s({{0, -1}, {1, 0}}, cost));
    EXPECT_EQ(exchange_bound_s({}, cost).value(), 0);
}

// A process's message to itself costs nothing.
TEST(Contention, BoundIgnoresTheDiagonal) {
    EXPECT_DOUBLE_EQ(exchange_bound_s({{1000, 1}, {1, 1000}}, {1, 1}).value(), 2);
}

// Proposition 1 is Claim 3 of a matrix of equal messages.
TEST(Contention, BoundsAgreeOnATotalExchange) {
    for (const std::size_t n : {1U, 2U, 5U, 17U}) {
        const std::vector<std::vector<double>> w(n, std::vector<double>(n, 4096));
        EXPECT_NEAR(exchange_bound_s(w, cost).value(), alltoall_bound_s(n, 4096, cost), 1e-15);
        EXPECT_DOUBLE_EQ(alltoall_bound_s(n, 4096, cost),
                         static_cast<double>(n - 1) * (50e-6 + 4096 * 8e-9));
    }
}

// (5) with the three published signatures.
TEST(Contention, PublishedSignaturesPredict) {
    const auto& [fast, gigabit, myrinet] = published_signatures;
    EXPECT_DOUBLE_EQ(alltoall_contended_s(24, 100'000, cost, fast.signature),
                     23 * (50e-6 + 100'000 * 8e-9 * 1.0195 + 8.23e-3));
    EXPECT_DOUBLE_EQ(alltoall_contended_s(40, 100'000, cost, gigabit.signature),
                     39 * (50e-6 + 100'000 * 8e-9 * 4.3628 + 4.93e-3));
    EXPECT_DOUBLE_EQ(alltoall_contended_s(24, 100'000, cost, myrinet.signature),
                     23 * (50e-6 + 100'000 * 8e-9 * 2.49754));
    EXPECT_NEAR(alltoall_contended_s(40, 100'000, cost, gigabit.signature), 0.3303, 5e-5);
}

// delta counts from M on, M included.
TEST(Contention, StartupCostBeginsAtTheThreshold) {
    const ContentionSignature s = published_signatures[0].signature;
    EXPECT_DOUBLE_EQ(alltoall_contended_s(24, 1999, cost, s),
                     23 * (50e-6 + 1999 * 8e-9 * 1.0195));
    EXPECT_DOUBLE_EQ(alltoall_contended_s(24, 2000, cost, s),
                     23 * (50e-6 + 2000 * 8e-9 * 1.0195 + 8.23e-3));
}

// (6), clusters of 10 and 25: three steps; 50 messages instead of 500.
TEST(Contention, TwoClusters) {
    const auto t = two_cluster_exchange({2, 3}, {10, 25}, {0.01, 1e-6}, 1000).value();
    EXPECT_DOUBLE_EQ(t.literal_s, 3 + 3 * (0.01 + 1e-6 * 1000 * 35));
    EXPECT_DOUBLE_EQ(t.packed_s, 3 + 3 * (0.01 + 1e-6 * 1000 * 10));
    EXPECT_EQ(t.two_phase_messages, 50U);
    EXPECT_EQ(t.traditional_messages, 500U);
    // which of them is called the first does not matter
    EXPECT_DOUBLE_EQ(two_cluster_exchange({2, 3}, {25, 10}, {0.01, 1e-6}, 1000)->literal_s,
                     t.literal_s);
    // equal clusters: one step
    EXPECT_DOUBLE_EQ(two_cluster_exchange({2, 3}, {8, 8}, {1, 0}, 0)->packed_s, 4);
    EXPECT_FALSE(two_cluster_exchange({2, 3}, {0, 8}, {1, 0}, 0));
}

// ------------------------------------------------------------------------- fits

const std::vector<double> sizes{256, 1024, 4096, 8000, 16384, 65536, 262144, 1048576};

/// All-to-alls as the signature says, each times 1 + noise * normal.
ContentionMeasurement measurement(const ContentionSignature& signature, std::uint64_t processes,
                                  double noise = 0, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    ContentionMeasurement m{processes, cost, {}, {}};
    for (const double size : sizes) {
        const double time = alltoall_contended_s(processes, size, cost, signature);
        m.samples.push_back({size, time * (1 + noise * normal(random))});
    }
    return m;
}

TEST(ContentionFit, FindsThePublishedSignatures) {
    for (const auto& published : published_signatures) {
        const auto fit = fit_contention(measurement(published.signature, 24),
                                        published.signature.threshold_bytes)
                             .value();
        EXPECT_NEAR(fit.signature.ratio, published.signature.ratio, 1e-9) << published.network;
        EXPECT_NEAR(fit.signature.startup_s, published.signature.startup_s, 1e-12);
        EXPECT_TRUE(fit.good());
        for (const double error : fit.error_percent) EXPECT_NEAR(error, 0, 1e-7);
    }
}

// The header's example, two samples: exact, but not reported as good.
TEST(ContentionFit, HeaderExample) {
    const ContentionMeasurement m{11, {0, 1e-6}, {{500, 10e-3}, {1000, 50e-3}}, {}};
    const auto fit = fit_contention(m, 1000).value();
    EXPECT_NEAR(fit.signature.ratio, 2, 1e-12);
    EXPECT_NEAR(fit.signature.startup_s, 3e-3, 1e-15);
    EXPECT_FALSE(fit.good());
    EXPECT_FALSE(fit.ratio_error);
}

/// Minimises (y - X c)' W (y - X c) for W = V^-1 by the normal equations.
std::array<double, 2> naive_gls(const ContentionMeasurement& m, double threshold,
                                const std::vector<std::vector<double>>& weight) {
    long double a[2][2]{};
    long double b[2]{};
    const std::size_t n = m.samples.size();
    const auto x = [&](std::size_t i, int column) -> long double {
        if (column == 1) return m.samples[i].message_bytes >= threshold ? 1 : 0;
        return static_cast<long double>(m.samples[i].message_bytes) * m.cost.per_byte_s;
    };
    const auto y = [&](std::size_t i) -> long double {
        return m.samples[i].time_s / static_cast<long double>(m.processes - 1) - m.cost.startup_s;
    };
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            for (int p = 0; p < 2; ++p) {
                b[p] += x(i, p) * weight[i][j] * y(j);
                for (int q = 0; q < 2; ++q) a[p][q] += x(i, p) * weight[i][j] * x(j, q);
            }
        }
    }
    const long double det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    return {static_cast<double>((b[0] * a[1][1] - b[1] * a[0][1]) / det),
            static_cast<double>((b[1] * a[0][0] - b[0] * a[1][0]) / det)};
}

std::vector<std::vector<double>> unit_matrix(std::size_t n) {
    std::vector<std::vector<double>> m(n, std::vector<double>(n, 0));
    for (std::size_t i = 0; i < n; ++i) m[i][i] = 1;
    return m;
}

TEST(ContentionFit, OrdinaryLeastSquaresAgreeWithTheNormalEquations) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        const auto m = measurement(published_signatures[1].signature, 40, 0.1, seed);
        const auto fit = fit_contention(m, 8000).value();
        const auto naive = naive_gls(m, 8000, unit_matrix(m.samples.size()));
        EXPECT_NEAR(fit.signature.ratio, naive[0], 1e-9 * std::abs(naive[0]));
        EXPECT_NEAR(fit.signature.startup_s, naive[1], 1e-9 * std::abs(naive[1]));
    }
}

// Diagonal: the weights are 1/variance.  A list and a matrix say the same.
TEST(ContentionFit, VariancesWeigh) {
    auto m = measurement(published_signatures[1].signature, 40, 0.1);
    std::vector<double> variances;
    auto matrix = unit_matrix(m.samples.size());
    auto weight = matrix;
    for (std::size_t i = 0; i < m.samples.size(); ++i) {
        variances.push_back(std::pow(0.01 * m.samples[i].time_s, 2));
        matrix[i][i] = variances[i];
        weight[i][i] = 1 / variances[i];
    }
    const auto naive = naive_gls(m, 8000, weight);
    m.covariance = variances;
    const auto by_list = fit_contention(m, 8000).value();
    m.covariance = matrix;
    const auto by_matrix = fit_contention(m, 8000).value();
    EXPECT_NEAR(by_list.signature.ratio, naive[0], 1e-9 * naive[0]);
    EXPECT_NEAR(by_list.signature.startup_s, naive[1], 1e-9 * naive[1]);
    EXPECT_NEAR(by_matrix.signature.ratio, naive[0], 1e-9 * naive[0]);
    EXPECT_NEAR(by_matrix.signature.startup_s, naive[1], 1e-9 * naive[1]);
    EXPECT_NEAR(*by_list.ratio_error, *by_matrix.ratio_error, 1e-9 * *by_list.ratio_error);
    const auto ordinary =
        fit_contention(measurement(published_signatures[1].signature, 40, 0.1), 8000);
    EXPECT_GT(std::abs(ordinary->signature.ratio - naive[0]), 1e-6);
}

// Errors that depend on each other: V[i][j] = s^2 r^|i-j|, whose inverse is
// tridiagonal and known.
TEST(ContentionFit, FullCovarianceAgreesWithTheNormalEquations) {
    constexpr double r = 0.6;
    auto m = measurement(published_signatures[0].signature, 24, 0.05);
    const std::size_t n = m.samples.size();
    auto covariance = unit_matrix(n);
    auto inverse = unit_matrix(n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            const auto apart = static_cast<double>(i > j ? i - j : j - i);
            covariance[i][j] = 1e-4 * std::pow(r, apart);
            if (apart == 1) inverse[i][j] = -r;
            if (apart == 0) inverse[i][j] = i == 0 || i == n - 1 ? 1 : 1 + r * r;
        }
    }
    m.covariance = covariance;
    const auto fit = fit_contention(m, 2000).value();
    const auto naive = naive_gls(m, 2000, inverse);
    EXPECT_NEAR(fit.signature.ratio, naive[0], 1e-9 * std::abs(naive[0]));
    EXPECT_NEAR(fit.signature.startup_s, naive[1], 1e-9 * std::abs(naive[1]));
}

// A scaled covariance changes no coefficient, and standard errors by its root.
TEST(ContentionFit, StandardErrorsScaleWithTheCovariance) {
    auto m = measurement(published_signatures[1].signature, 40, 0.1);
    m.covariance = std::vector<double>(m.samples.size(), 1e-4);
    const auto once = fit_contention(m, 8000).value();
    m.covariance = std::vector<double>(m.samples.size(), 4e-4);
    const auto twice = fit_contention(m, 8000).value();
    EXPECT_NEAR(twice.signature.ratio, once.signature.ratio, 1e-12);
    EXPECT_NEAR(*twice.ratio_error, 2 * *once.ratio_error, 1e-12);
    EXPECT_NEAR(*twice.startup_error_s, 2 * *once.startup_error_s, 1e-12);
}

// The standard error is that of many repetitions of the measurement.
TEST(ContentionFit, StandardErrorsAreThoseOfRepetitions) {
    const ContentionSignature truth = published_signatures[1].signature;
    std::mt19937 random(7);
    std::normal_distribution<double> normal(0, 1e-3);
    double sum = 0;
    double squares = 0;
    double claimed = 0;
    constexpr int repetitions = 2000;
    for (int i = 0; i < repetitions; ++i) {
        auto m = measurement(truth, 40);
        for (auto& sample : m.samples) sample.time_s += normal(random);
        m.covariance = std::vector<double>(m.samples.size(), 1e-6);
        const auto fit = fit_contention(m, 8000).value();
        sum += fit.signature.ratio - truth.ratio;
        squares += std::pow(fit.signature.ratio - truth.ratio, 2);
        claimed = *fit.ratio_error;
    }
    EXPECT_NEAR(sum / repetitions, 0, 5 * claimed / std::sqrt(repetitions));
    EXPECT_NEAR(std::sqrt(squares / repetitions), claimed, 0.1 * claimed);
}

// `from_threshold` looks at no smaller sample; errors are of all of them.
TEST(ContentionFit, LargeSamplesOnly) {
    auto m = measurement(published_signatures[1].signature, 40);
    m.samples[0].time_s *= 100;  // below M
    const auto large = fit_contention(m, 8000, SampleChoice::from_threshold).value();
    EXPECT_NEAR(large.signature.ratio, 4.3628, 1e-9);
    EXPECT_EQ(large.samples_used, 5U);
    EXPECT_EQ(large.error_percent.size(), sizes.size());
    EXPECT_NEAR(large.error_percent[0], 9900, 1e-6);
    EXPECT_GT(std::abs(fit_contention(m, 8000)->signature.ratio - 4.3628), 1e-6);
}

TEST(ContentionFit, NoSampleAtTheThresholdLeavesTheStartupCostAtZero) {
    const auto fit = fit_contention(measurement({2, 0, infinite}, 8), infinite).value();
    EXPECT_NEAR(fit.signature.ratio, 2, 1e-12);
    EXPECT_EQ(fit.signature.startup_s, 0);
    EXPECT_FALSE(fit.startup_error_s);
}

TEST(ContentionFit, RefusesWhatCannotBeFitted) {
    auto m = measurement(published_signatures[0].signature, 24);
    EXPECT_FALSE(fit_contention(m, infinite, SampleChoice::from_threshold));
    m.samples = {{4096, 1}, {4096, 1.1}, {4096, 0.9}, {4096, 1}};
    EXPECT_FALSE(fit_contention(m, 2000));  // one size: ratio or start-up cost?
    m.samples = {};
    EXPECT_FALSE(fit_contention(m, 2000));
    m = measurement(published_signatures[0].signature, 24);
    m.covariance = std::vector<double>(3, 1.0);
    EXPECT_FALSE(fit_contention(m, 2000));
    const std::vector<double> ones(sizes.size(), 1);
    m.covariance = std::vector(sizes.size(), ones);
    EXPECT_FALSE(fit_contention(m, 2000));  // not positive definite
    m.covariance = {};
    m.processes = 1;
    EXPECT_FALSE(fit_contention(m, 2000));
}

// Whatever the noise, from none to 3 %; one threshold in a hundred is a mistake.
TEST(ContentionFit, ChoosesTheThreshold) {
    constexpr unsigned seeds = 50;
    for (const double noise : {0.0, 1e-3, 0.03}) {
        for (const auto& published : published_signatures) {
            // the smallest measured size that is not below M
            const auto found = std::lower_bound(sizes.begin(), sizes.end(),
                                                published.signature.threshold_bytes);
            const double wanted = found == sizes.end() ? infinite : *found;
            unsigned right = 0;
            for (unsigned seed = 0; seed < seeds; ++seed) {
                const auto m = measurement(published.signature, 40, noise, seed);
                right += fit_contention_threshold(m)->signature.threshold_bytes == wanted;
            }
            EXPECT_GE(right, noise > 0 ? seeds * 96 / 100 : seeds) << published.network << noise;
        }
    }
}

TEST(ContentionFit, ChoosesTheThresholdWithKnownVariances) {
    auto m = measurement(published_signatures[1].signature, 40, 0.01);
    std::vector<double> variances;
    for (const auto& sample : m.samples) variances.push_back(1e-4 * sample.time_s * sample.time_s);
    m.covariance = variances;
    EXPECT_EQ(fit_contention_threshold(m)->signature.threshold_bytes, 8000);
    for (double& variance : variances) variance *= 1e8;  // then nothing is significant
    m.covariance = variances;
    EXPECT_EQ(fit_contention_threshold(m)->signature.threshold_bytes, infinite);
}

// The paper's Myrinet: fitted with 24 processes, saturated from 40 on.
TEST(ContentionFit, DetectsAFitBelowSaturation) {
    const ContentionSignature fitted{2.49754, 0, infinite};
    std::vector<ScalingSample> samples;
    for (const std::uint64_t n : {8U, 16U, 24U, 32U, 40U, 48U, 64U}) {
        const double ratio = 2.49754 * (n < 40 ? static_cast<double>(n) / 24 : 40.0 / 24);
        for (const double size : sizes) {
            samples.push_back({n, size, alltoall_contended_s(n, size, cost, {ratio, 0, infinite})});
        }
    }
    const auto check = check_saturation(fitted, cost, 24, samples);
    EXPECT_EQ(check.verdict, Saturation::unsaturated);
    EXPECT_EQ(check.steady_from, 40U);
    EXPECT_GT(check.worst_error_percent, 30);
    EXPECT_NE(check.reason.find("40"), std::string::npos);

    const auto saturated = check_saturation({2.49754 * 40 / 24, 0, infinite}, cost, 40, samples);
    EXPECT_EQ(saturated.verdict, Saturation::saturated);
    EXPECT_NEAR(saturated.worst_error_percent, 0, 1e-9);

    EXPECT_EQ(check_saturation(fitted, cost, 64, samples).verdict, Saturation::unknown);
    EXPECT_EQ(check_saturation(fitted, cost, 24, {}).verdict, Saturation::unknown);
}

}  // namespace
}  // namespace headway::test

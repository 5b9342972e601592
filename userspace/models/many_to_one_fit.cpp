// SPDX-License-Identifier: Apache-2.0
#include "models/many_to_one_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text_lines.hpp"

namespace headway {
namespace {

constexpr std::size_t samples_min = 5;
constexpr std::size_t samples_for_buffer_min = 2;
constexpr std::size_t run_min = 2;  ///< of the first and the last run
/// Three runs that do not reduce the errors to this part are noise.
constexpr double worthwhile = 0.5;

/// Sums of a series and its squares, so that any run costs the same.
class Runs {
public:
    explicit Runs(const std::vector<double>& values) : sums_{0}, squares_{0} {
        for (const double value : values) {
            sums_.push_back(sums_.back() + value);
            squares_.push_back(squares_.back() + value * value);
        }
    }

    /// The constant of the run [from, to).
    [[nodiscard]] double constant(std::size_t from, std::size_t to) const {
        return (squares_[to] - squares_[from]) / (sums_[to] - sums_[from]);
    }

    /// Its squared relative errors: sum r^2/c^2 - 2 sum r/c + n.
    [[nodiscard]] double errors(std::size_t from, std::size_t to) const {
        const double c = constant(from, to);
        const double squares = squares_[to] - squares_[from];
        const double sum = sums_[to] - sums_[from];
        return std::max(0.0, squares / (c * c) - 2 * sum / c + static_cast<double>(to - from));
    }

private:
    std::vector<double> sums_;
    std::vector<double> squares_;
};

struct Cut {
    std::size_t first = 0;  ///< the middle run is [first, second)
    std::size_t second = 0;
    double errors = std::numeric_limits<double>::infinity();
};

Cut best_cut(const Runs& small, const Runs& times, const Runs& large, std::size_t count,
             const ModelProgress& progress) {
    Cut best;
    for (std::size_t first = run_min; first + 1 + run_min <= count; ++first) {
        if (progress) progress(first, count);
        for (std::size_t second = first + 1; second + run_min <= count; ++second) {
            const double errors = small.errors(0, first) + times.errors(first, second) +
                                  large.errors(second, count);
            if (errors < best.errors) best = {first, second, errors};
        }
    }
    return best;
}

/// By size, and none that no model could have made.
Result<void> sort_and_check(std::vector<ManyToOneSample>& samples, std::size_t least) {
    std::ranges::sort(samples, {}, &ManyToOneSample::message_bytes);
    if (samples.size() < least) {
        return failure("nothing can be fitted to {}; measure at least {} sizes", counted(samples.size(), "sample"), least);
    }
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const ManyToOneSample& sample = samples[i];
        if (!(sample.message_bytes > 0) || !(sample.time_s > 0) ||
            !std::isfinite(sample.message_bytes) || !std::isfinite(sample.time_s)) {
            return failure("a sample of {} bytes took {} s; both must be positive",
                           sample.message_bytes, sample.time_s);
        }
        if (i > 0 && samples[i - 1].message_bytes == sample.message_bytes) {
            return failure("two samples of {} bytes; give the median of a size's times",
                           sample.message_bytes);
        }
    }
    return {};
}

}  // namespace

Result<ManyToOneFit> fit_many_to_one(std::span<const DelayedPath> sources,
                                     std::vector<ManyToOneSample> samples, ReceiverIdle idle,
                                     const ModelProgress& progress) {
    if (const auto fine = sort_and_check(samples, samples_min); !fine)
        return tl::unexpected(fine.error());

    constexpr double infinite = std::numeric_limits<double>::infinity();
    const ManyToOneRegions one_region{infinite, infinite, 0, 1, 1};
    std::vector<double> small;
    std::vector<double> times;
    std::vector<double> large;
    for (const ManyToOneSample& sample : samples) {
        const auto linear = many_to_one(sources, sample.message_bytes, one_region, idle);
        if (!linear) return tl::unexpected(linear.error());
        small.push_back(sample.time_s / linear->time_s);
        times.push_back(sample.time_s);
        large.push_back(sample.time_s / linear->linear_s);
    }

    ManyToOneFit fit;
    const std::size_t count = samples.size();
    const Runs of_small(small);
    const Runs of_large(large);
    const Cut cut = best_cut(of_small, Runs(times), of_large, count, progress);
    fit.congested = cut.errors < worthwhile * of_small.errors(0, count);
    fit.regions = one_region;
    fit.regions.small_factor = of_small.constant(0, fit.congested ? cut.first : count);
    if (fit.congested) {
        fit.regions.small_bytes = samples[cut.first - 1].message_bytes;
        fit.regions.large_bytes = samples[cut.second - 1].message_bytes;
        fit.regions.congested_s = Runs(times).constant(cut.first, cut.second);
        fit.regions.large_factor = of_large.constant(cut.second, count);
    }
    for (const ManyToOneSample& sample : samples) {
        const auto predicted = many_to_one(sources, sample.message_bytes, fit.regions, idle);
        fit.error_percent.push_back(100 * (sample.time_s / predicted->time_s - 1));
    }
    fit.samples = std::move(samples);
    return fit;
}

Result<OneToManyFit> fit_one_to_many(const ProcessingDelay& root,
                                     std::span<const DelayedPath> destinations,
                                     std::vector<ManyToOneSample> samples) {
    if (const auto fine = sort_and_check(samples, samples_for_buffer_min); !fine)
        return tl::unexpected(fine.error());
    std::vector<double> candidates{0};
    for (const ManyToOneSample& sample : samples) candidates.push_back(sample.message_bytes);
    candidates.back() = std::numeric_limits<double>::infinity();
    std::optional<OneToManyFit> best;
    double least = 0;
    for (const double buffered_bytes : candidates) {
        OneToManyFit fit{buffered_bytes, {}};
        double errors = 0;
        for (const ManyToOneSample& sample : samples) {
            const auto predicted_s =
                one_to_many_s(root, destinations, sample.message_bytes, buffered_bytes);
            if (!predicted_s) return tl::unexpected(predicted_s.error());
            const double error = sample.time_s / *predicted_s - 1;
            fit.error_percent.push_back(100 * error);
            errors += error * error;
        }
        if (best && errors >= least) continue;
        best = std::move(fit);
        least = errors;
    }
    return std::move(*best);
}

}  // namespace headway

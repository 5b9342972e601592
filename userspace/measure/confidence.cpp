// SPDX-License-Identifier: Apache-2.0
#include "measure/confidence.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace headway {
namespace {

/// The 97.5 % quantile of Student's t, by degrees of freedom; beyond the table the normal
/// distribution's with the first term of its expansion.
double student_t(std::size_t freedom) {
    constexpr std::array table{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                               2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
    if (freedom <= table.size()) return table[freedom - 1];
    constexpr double z = 1.959964;
    return z + (z * z * z + z) / (4 * static_cast<double>(freedom));
}

}  // namespace

Mean mean_of(std::span<const double> samples) {
    Mean mean;
    mean.samples = samples.size();
    mean.half_width = std::numeric_limits<double>::infinity();
    if (samples.empty()) return mean;
    const auto n = static_cast<double>(samples.size());
    for (const double sample : samples) mean.value += sample / n;
    if (samples.size() < 2) return mean;
    double squares = 0;
    for (const double sample : samples) squares += (sample - mean.value) * (sample - mean.value);
    mean.half_width = student_t(samples.size() - 1) * std::sqrt(squares / (n - 1) / n);
    return mean;
}

Mean undisturbed_mean(std::span<const double> samples) {
    std::vector<double> sorted(samples.begin(), samples.end());
    std::sort(sorted.begin(), sorted.end());
    constexpr std::size_t too_few = 4;  // quartiles mean nothing
    if (sorted.size() < too_few) return mean_of(sorted);
    const double low = sorted[sorted.size() / 4], high = sorted[3 * sorted.size() / 4];
    const double reach = 1.5 * (high - low);
    std::erase_if(sorted, [&](double sample) { return sample < low - reach || sample > high + reach; });
    return mean_of(sorted);
}

}  // namespace headway

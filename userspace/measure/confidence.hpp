// SPDX-License-Identifier: Apache-2.0
// How well a mean is known.
//
// Source: Student's t; the level of 95 % and the wanted half width of 2.5 % are those of Zhu
// et al., section 3.1.
#pragma once

#include <cstddef>
#include <span>

namespace headway {

inline constexpr double wanted_half_width = 0.025;  ///< of the mean

struct Mean {
    double value = 0;
    double half_width = 0;  ///< of the interval of 95 % confidence; infinite of fewer than two samples
    std::size_t samples = 0;

    [[nodiscard]] bool is_known_well() const { return half_width <= wanted_half_width * value; }
};

[[nodiscard]] Mean mean_of(std::span<const double> samples);
/// Averages the samples within one and a half times the distance of the quartiles from these: one
/// that was disturbed does not count.
[[nodiscard]] Mean undisturbed_mean(std::span<const double> samples);

}  // namespace headway

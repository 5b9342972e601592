// SPDX-License-Identifier: Apache-2.0
// Finding the regions of a many-to-one, and the S of a one-to-many (many_to_one.hpp), from
// measured times.
//
// Source: Lastovetsky et al., section 4: three regions, whose borders and factors
// are measured; (2) for S.  How they are found is ours; the report reads them off plots.
//
// Vocabulary: many_to_one.hpp, and
//   r(M)   measured time / linear part of (4); with idle times counted, / (linear
//          + T_idle) up to M1
//
// Equations
//   The sizes are cut into three runs: up to M1, up to M2, beyond.  In the first
//   and the last, r is taken for constant (Delta_1, Delta_2), in the middle the
//   time itself (C).  Each constant c is the one with the least sum of squared
//   relative errors sum (r_i/c - 1)^2, which is c = sum r_i^2 / sum r_i; M1 and M2
//   are the pair of measured sizes with the least sum of all three.
//   One run alone (no congestion: M1 = M2 = infinite) if three do not halve its sum.
//   S is 0 or the measured size with which (2) has the least sum of squared relative errors
//   (time / predicted - 1)^2; infinite if that is the largest size.
//
// Example: linear = M microseconds; T = 1, 2, 51, 51, 12, 15 us for M = 1, 2, 4, 6,
// 8, 10: Delta_1 = 1 up to 2, C = 51 us up to 6, Delta_2 = 1.5.
//
// Limits: at least two sizes in the first and the last run, one in the middle; the
// congested time is taken for constant, and escalates at random in truth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/model_progress.hpp"
#include "models/many_to_one.hpp"

namespace headway {

struct ManyToOneSample {
    double message_bytes = 0;
    double time_s = 0;
};

struct ManyToOneFit {
    ManyToOneRegions regions;
    bool congested = false;             ///< whether there is a region of congestion
    std::vector<double> error_percent;  ///< 100 (measured / predicted - 1), by size
    std::vector<ManyToOneSample> samples;  ///< as they were fitted: by size
};

/// Samples in any order; at least five of different sizes, sizes and times positive.
[[nodiscard]] Result<ManyToOneFit> fit_many_to_one(std::span<const DelayedPath> sources,
                                                   std::vector<ManyToOneSample> samples,
                                                   ReceiverIdle idle,
                                                    const ModelProgress& progress = {});

struct OneToManyFit {
    double buffered_bytes = 0;          ///< S; infinite: no measured size was beyond it
    std::vector<double> error_percent;  ///< 100 (measured / predicted - 1), by size
};

/// Samples in any order, of different sizes, two at least; sizes and times positive.
[[nodiscard]] Result<OneToManyFit> fit_one_to_many(const ProcessingDelay& root,
                                                   std::span<const DelayedPath> destinations,
                                                   std::vector<ManyToOneSample> samples);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// PlogPT's gap under contention: how long a message takes whose throughput
// changes on the way.
//
// Source: Nomura et al. (see plogp.hpp), section III-B.2.
//
// Vocabulary
//   t_s       when the communication C starts
//   b_c(C,t)  its throughput at time t, bytes/s; constant between events
//   g_c(m,C)  its gap: from t_s until all is sent
//
// Equation
//   (6) b(1) g(m) = integral of b_c(C,t) from t_s to t_s + g_c(m,C)
// The left side is what has to be moved, overheads included; g(m) is the gap
// that an uncontended message has.
//
// Example: b(1) = 3, g(m) = 8 (24 bytes to move), t_s = 2, throughput 2 from
// t = 0 and 4 from t = 6: 8 bytes until 6, the other 16 in 4 s; g_c = 8.
//
// Limits: no throughput before the first step of a profile (0), the last step
// for ever after.  What is never finished has an infinite gap.
#pragma once

#include <vector>

#include "base/error.hpp"

namespace headway {

/// From `time_s` on, until the next step.
struct ThroughputStep {
    double time_s = 0;
    double throughput_bytes_per_s = 0;
};

/// The gap in s, (6).  `amount_bytes` is b(1) g(m).  Fails if the steps go back
/// in time or a throughput is negative.
[[nodiscard]] Result<double> plogpt_gap_s(double amount_bytes, double start_s,
                                          const std::vector<ThroughputStep>& profile);

}  // namespace headway

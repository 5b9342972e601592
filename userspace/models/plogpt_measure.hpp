// SPDX-License-Identifier: Apache-2.0
// PlogPT's parameters from measurements.
//
// Source: Nomura et al. (see plogp.hpp), sections II-C and III-C.
//
// Vocabulary
//   RTT(m)      round trip of a message of m bytes that is answered with an
//               empty one
//   g(0)        gap of empty messages, from how many can be sent in a second
//   burst       all pairs i -> i + 2^(h-1), i < 2^(h-1), send at once as fast as
//               they can: every edge of height h is full
//   latency     ping-pong between the outermost leaves, 0 and 2^h - 1, idle and
//               during the burst
//   direction   bursts one way only, or both ways at once.  Both are measured:
//               collective operations use both directions
//
// Equations
//   (1)  L = RTT(0)/2 - g(0)
//        g(m) = RTT(m) - 2 L - g(0)
//        b(h) = sum of the bandwidths of the 2^(h-1) pairs (of one direction)
//        d(h) = loaded - idle latency; half of it if the burst is bidirectional,
//               as both ways of the ping-pong then meet full buffers
//
// Example: idle 100 us, during a bidirectional burst 1002 us: d = 451 us.  Two
// pairs at 72.5 MB/s each: b(2) = 145 MB/s.
//
// Limits: noise is the caller's: medians should go in.  A loaded latency below
// the idle one is taken for noise about a delay of 0.
#pragma once

#include <vector>

#include "models/plogp.hpp"
#include "models/plogpt_tree.hpp"

namespace headway {

struct RoundTrip {
    double message_bytes = 0;
    double round_trip_s = 0;
};

struct PlogpParameters {
    double latency_s = 0;  ///< L
    GapTable gap;          ///< g(m)
};

/// (1).  `empty_gap_s` is g(0); a round trip of an empty message must be there.
/// Fails if the latency or a gap came out negative.
[[nodiscard]] Result<PlogpParameters> plogp_from_round_trips(double empty_gap_s,
                                                             const std::vector<RoundTrip>& trips);

enum class BurstDirection { one_way, both_ways };

/// The measurements at one height.
struct HeightMeasurement {
    std::vector<double> pair_bandwidths_bytes_per_s;  ///< of the 2^(h-1) pairs of one direction
    double idle_latency_s = 0;
    double loaded_latency_s = 0;
};

/// b and d; heights[0] is height 1.  Fails if the number of pairs is not 2^(h-1).
[[nodiscard]] Result<PlogptLinks> plogpt_links_from_bursts(
    const std::vector<HeightMeasurement>& heights, BurstDirection direction);

}  // namespace headway

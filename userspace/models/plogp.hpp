// SPDX-License-Identifier: Apache-2.0
// PlogP, the parameterised LogP model, and its all-to-all times.
//
// Source: Nomura, Matsuba, Ishikawa, "Network Performance Model for TCP/IP
// Based Cluster Computing", sections II-C and IV-B; equation numbers are that
// paper's.  PlogP itself: Kielmann, Bal, Verstoep, 2000.
//
// Vocabulary
//   g(m)  gap: the time between two messages of m bytes that one process sends
//         one after the other; what sending a message costs its sender
//   L     latency: from the end of sending to the end of receiving
//   P     processes of the collective
//   A     all-to-all in P - 1 exchanges, each waits for its message to arrive
//   B     all-to-all that posts every receive, then sends P - 1 messages
//
// Equations (bytes, seconds)
//   (1)  RTT(0) = 2 (L + g(0))
//        RTT(m) = 2 L + g(0) + g(m): the answer of a ping-pong is empty
//   (18) T_A = (P - 1) (g(m) + L)
//   (19) T_B = (P - 1) g(m) + L
//   (20) T_A > T_B for P > 2 and L > 0
//
// g(m) is known at measured sizes.  Between two of them it is linear, beyond
// the last it continues with the last slope, below the first it is the first.
//
// Example: g(0) = 10 us, RTT(0) = 120 us gives L = 50 us; RTT(1000) = 130 us
// gives g(1000) = 130 - 100 - 10 = 20 us.  Then g(500) = 15 us, g(2000) = 30 us,
// and 8 processes exchange 1000 bytes in A 7 x 70 = 490 us, B 140 + 50 = 190 us.
//
// Limits: no shared links, no losses; plogpt_*.hpp adds both.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"

namespace headway {

struct GapPoint {
    double message_bytes = 0;
    double gap_s = 0;
};

/// g(m).
class GapTable {
public:
    /// Points in any order; at least one, no size twice, nothing negative.
    [[nodiscard]] static Result<GapTable> make(std::vector<GapPoint> points);

    /// The result is never negative, even where a falling last slope would be.
    [[nodiscard]] double operator()(double message_bytes) const;

private:
    explicit GapTable(std::vector<GapPoint> points) : points_(std::move(points)) {}

    std::vector<GapPoint> points_;  ///< by size
};

/// (18)
[[nodiscard]] double plogp_alltoall_a_s(std::uint64_t processes, double gap_s, double latency_s);
/// (19)
[[nodiscard]] double plogp_alltoall_b_s(std::uint64_t processes, double gap_s, double latency_s);

}  // namespace headway

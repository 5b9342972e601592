// SPDX-License-Identifier: Apache-2.0
// PlogPT's times of the two all-to-alls in closed form.
//
// Source: Nomura et al. (see plogp.hpp), section IV-B.
//
// Vocabulary: as in plogpt_tree.hpp and plogpt_rto.hpp; P = 2^D processes; A and
// B as in plogpt_program.hpp.
//
// Equations
//   (22) gap of a message of height h while all processes exchange at that
//        height: 2^(h-1) b(1)/b(h) g(m)
//   (23) T_A = sum over h = 1..D of 2^(h-1) 2^(h-1) b(1)/b(h) g(m) + (P-1) L
//   (25) T_B = the same sum + L + N_RTO T_RTO
//   (26) T_A < T_B if N_RTO > 0, as T_RTO is much more than (P-2) L; else (27) T_A > T_B
//
// Example: b = 3, 4 per edge, g(m) = 8, L = 3, P = 4: the sum is
// 8 + 2 x 2 x 3/4 x 8 = 32, T_A = 41, T_B = 35 without RTO.
//
// Limits: (25) is one possible course, in which one process suffers every RTO;
// the simulation finds longer and shorter ones (plogpt_simulator.hpp).
#pragma once

#include <vector>

#include "models/plogpt_tree.hpp"

namespace headway {

struct PlogptAlltoallTimes {
    double a_s = 0;                     ///< (23)
    double b_s = 0;                     ///< (25)
    std::vector<unsigned> rto_heights;  ///< N_RTO is their number
};

struct PlogptAlltoallCase {
    unsigned levels = 1;       ///< D: 2^D processes; at most the tree's height
    double message_bytes = 0;  ///< m
    double gap_s = 0;          ///< g(m)
    double latency_s = 0;      ///< L
    double timeout_s = 0.2;    ///< T_RTO
};

[[nodiscard]] PlogptAlltoallTimes plogpt_alltoall(const PlogptTree& tree,
                                                  const PlogptAlltoallCase& alltoall);

}  // namespace headway

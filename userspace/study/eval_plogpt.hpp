// SPDX-License-Identifier: Apache-2.0
// The operations of model "plogpt": models/plogp.hpp and models/plogpt_*.hpp.
// Units: seconds, bytes, bytes/s.  Lists by height begin with height 1.
//
//   ps                 b, d, h, h2, eps_s (b is not clamped)
//                      -> exact (4), distance (left of (5); null: none), ps
//   rates              b, clamp, flows [[source, destination]]
//                      -> height [], rate [] (7)
//   gap                b1, g, t_start, profile [[time, throughput]] -> g_c (6)
//   alltoall           b, d, clamp, eps_s, P, m, g, L, t_rto
//                      -> plogp_a, plogp_b, plogpt_a, plogpt_b, rto_heights [], n_rto
//   simulate           b, d, clamp, eps_s, gap [[m, g]], L, rto, programs
//                      -> makespan, leave [rank][op], finish [rank][op]
//   simulate_alltoall  b, d, clamp, eps_s, eps_t, t_rto, P, m, g, L, algorithm, rto
//                      -> makespan, rto_count
//
// A program is a list of ["irecv", source, m], ["isend", destination, m] and
// ["wait", index of an operation].  rto is a policy of models/plogpt_rto.hpp; in
// simulate also an object of policy, eps_t and t_rto.
#pragma once

#include <span>

#include "study/eval_interface.hpp"

namespace headway {

[[nodiscard]] std::span<const EvalOperation> eval_plogpt_operations();

}  // namespace headway

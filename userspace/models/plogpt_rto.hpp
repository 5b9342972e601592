// SPDX-License-Identifier: Apache-2.0
// When PlogPT expects a retransmission time-out.
//
// Source: Nomura et al. (see plogp.hpp), sections III-B.3, III-D and IV-B.
//
// Vocabulary
//   RTO       retransmission time-out: the last packet of a message is lost, and
//             nothing that follows tells the receiver so
//   T_RTO     how long the sender then waits; 200 ms in Linux
//   O, O'     Isends; h(O) the height, m(O) the size, O.e the time when the
//             process enters, O.f_noRTO when it is sent if nothing is lost
//   B(C)      bytes in the buffers of the switches that C crosses
//   P_B(C)    whether C fills them
//   eps_T     how near in time a start is to an end to disturb it; a few times
//             what one packet takes
//
// Equations
//   (8)  B(C) = d(h(C)) b_c(C, t_f), t_f the end of C
//   (9)  P_B(C) <=> B(C) < m(C)
//   (14) O.f = O.f_noRTO + T_RTO if P_B(O), and another process starts an Isend
//              O' to the same destination with |O'.e - O.f_noRTO| < eps_T and
//              P_S(h(O), h(O'));
//              O.f_noRTO otherwise
//   (24) N_RTO of an all-to-all = number of heights h in 1..D-1 with P_S(h,h+1)
//        and d(h) b(h)/2^(h-1) < m
//
// (14) is circular: a sender that is delayed starts its next message later, and
// may no longer be the O' of another.  A policy says how that is resolved:
//   none         there is no RTO
//   chrono       sends are judged in the order of their ends, ties by rank, each
//                against the future in which the earlier judgements stand and
//                the sends not yet judged are not delayed
//   random:SEED  as chrono, with the ties shuffled
//   all          sends that end at one time are judged as if none of them were
//                delayed; this gives (25) of plogpt_closed.hpp
//
// Example: Table II (see plogpt_tree.hpp) has P_S(h,h+1) for h = 1 and 4, with
// B = 251 us x 72.5 MB/s = 18.2 kB and 455 us x 72 MB/s = 32.8 kB.  All-to-all B
// of 32 processes has N_RTO = 0 up to 18.2 kB, 1 up to 32.8 kB, and 2 beyond.
//
// Limits: a message times out once at most; jitter, which makes real systems
// time out in A as well, is not in the model.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/plogpt_tree.hpp"

namespace headway {

enum class PlogptRtoPolicy : std::uint8_t { none, chrono, random, all };

struct PlogptRto {
    PlogptRtoPolicy policy = PlogptRtoPolicy::none;
    std::uint64_t seed = 0;    ///< of random
    double timeout_s = 0.2;    ///< T_RTO
    double window_s = 50e-6;   ///< eps_T: four packets of 1500 bytes at 1 Gbit/s
};

/// "none", "chrono", "random:7", "all"; the times are the defaults.
[[nodiscard]] Result<PlogptRto> parse_plogpt_rto(std::string_view text);

/// (8) and (9): P_B of a message that is sent at this rate when it ends.
[[nodiscard]] bool plogpt_fills_buffers(const PlogptTree& tree, unsigned height,
                                        double rate_bytes_per_s, double message_bytes);

/// The heights of (24) in an all-to-all of 2^levels processes; N_RTO is their
/// number.
[[nodiscard]] std::vector<unsigned> plogpt_rto_heights(const PlogptTree& tree, unsigned levels,
                                                       double message_bytes);

}  // namespace headway

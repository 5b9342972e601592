// SPDX-License-Identifier: Apache-2.0
// PlogPT's simulation of MPI programs: messages that share a tree, and wait for
// retransmission time-outs.
//
// Source: Nomura et al. (see plogp.hpp), section III-D.
//
// Vocabulary: O[n,i] is the i-th operation of process n (plogpt_program.hpp),
// O.e when the process enters it, O.l when it leaves it, O.f when the
// communication is finished, L the latency.
//
// Equations
//   (10) O[n,0].e = 0
//   (11) O[n,i+1].e = O[n,i].l
//   (12) O.l = O.e of Isend and Irecv; max(O.e, O'.f) of a Wait for O'
//   (13) O.f_noRTO = O.l + g_c(m, O) of an Isend: (6) of plogpt_gap.hpp with the
//        throughput (7) of plogpt_rates.hpp
//   (14) O.f of an Isend: see plogpt_rto.hpp
//   (15) O.f = O'.f + L of an Irecv, O' being its Isend
//   execution time = the largest O.l
//
// An Isend never waits for its Irecv.  A flow that waits for an RTO uses no
// bandwidth.  Times that differ by less than 1e-11 of themselves are one time.
//
// Example (III-E): b = 3, 4; g(m) = 8; L = 3; each process of 4 exchanges with
// the one at distance 2, then 0 sends to 3.  The four flows share the edges of
// height 2 at 2 bytes/s: 24 bytes until 12, received at 15.  The last one is
// alone: 8 s at b(1) = 3, sent at 23, received at 26.
//
// How: events in time order.  The network (plogpt_network.hpp) knows who ends
// next.  Sends that may time out are judged when their window is over; what has
// been simulated beyond a send that does time out is undone, by going back to a
// copy of the state and running to that send again.
//
// Limits: computation costs nothing, sending and receiving CPU time neither;
// rates change at once with the number of flows.
#pragma once

#include <cstdint>
#include <vector>

#include "models/plogp.hpp"
#include "models/plogpt_program.hpp"
#include "models/plogpt_rto.hpp"
#include "models/plogpt_tree.hpp"

namespace headway {

/// All that a simulation needs to know besides the programs.
struct PlogptSystem {
    PlogptTree tree;
    GapTable gap;          ///< g(m) at height 1
    double latency_s = 0;  ///< L
};

enum class PlogptRecord { no, times };

struct PlogptRun {
    double makespan_s = 0;
    std::uint64_t rto_count = 0;
    /// Filled if asked for; [process][operation].
    std::vector<std::vector<double>> leave_s;  ///< O.l
    std::vector<double> sent_s;  ///< O.f of the Isend, by message
};

/// Fails for more processes than leaves, and, naming rank and op, for programs
/// that wait for each other.
[[nodiscard]] Result<PlogptRun> simulate_plogpt(const PlogptSystem& system,
                                                const PlogptPrograms& programs,
                                                const PlogptRto& rto,
                                                PlogptRecord record = PlogptRecord::no);

/// RTOs strike at random: a prediction is a range.
struct PlogptRange {
    double without_rto_s = 0;
    double least_s = 0;  ///< of the policy random over the seeds
    double most_s = 0;
};

/// Simulates without RTO, and with the seeds 0 to seeds - 1.
[[nodiscard]] Result<PlogptRange> simulate_plogpt_range(const PlogptSystem& system,
                                                        const PlogptPrograms& programs,
                                                        const PlogptRto& rto, unsigned seeds);

}  // namespace headway

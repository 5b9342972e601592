// SPDX-License-Identifier: Apache-2.0
// What `headway measure` has seen of messages on this network, and what that says of an
// exchange.
//
// Source: Headway's own.  The papers' models are fitted to the same times, but do not decide:
// an all-to-all jumps from what its links need to a time-out, which Steffenel's straight line
// does not (in the emulated `rack` it misses the shorter messages by 80 %).
//
// Of which exchanges it says something
//   all-to-all   every host sends the same amount to every other one; as many hosts as in a measured
//                one, spread over the clusters as those within one host of each cluster
//   gather       all send the same amount to one, and they are as many as were measured
//                Between two measured sizes times lie on the straight line, beyond them nothing is said.
//   others       all-to-alls of other hosts, irregular exchanges, gathers from fewer hosts: what the
//                fluid model says, and beyond it what those measured took: if nothing was lost, by the
//                bytes of a message, and by losses, by the most bytes that piled up in front of a link
//                (fluid.hpp: overload).  Nothing where more piles up than in any of these.
//                Those measured are gathers for gathers; exchanges between neighbours where every host
//                sends to less than half of the others, as halos do, as far as these tell, those on the grid first
//                whose hosts send most nearly as many messages; else all-to-alls.
//
// Where nothing is lost an exchange takes longer than by the fluid model, in which all messages flow side
// by side: a host sends one message after the other, each waits for whole ones on its way, and meanwhile
// links behind these have nothing to do.  How long depends on the order, which is the MPI library's, and
// grows with the size of a message.
//
// Times are means over calls, with the time-outs of those that met some.  Where packets were lost
// and none of n calls met a time-out, others may: half a call in n + 1 is expected to, which is the
// mean that Jeffreys' prior leaves, and a mean is taken to be longer by that part of a time-out.
// (Of 240 calls of MPI 2.5 % met one, where 3.9 % are expected so; 3 / n, of which one can be 95 % sure,
// is 25 %: Documentation/measure.rst, "What plans make of it".)  Times decide only where packets were lost: a dozen
// calls without a loss do not say that there is none in a thousand.
//
// Paced, an exchange takes what the fluid model says for its rates, and what the smallest
// measured one took beside what that model says of it: the work of hosts, which pacing leaves.
//
// Example: measured 0.55 ms for 4 KiB, and for 64 KiB 84 ms with losses.  If the fluid model says
// 0.46 ms for 4 KiB and 7.5 ms for 64 KiB paced, 64 KiB take 7.6 ms paced: pacing helps.
// Of six of these eight hosts less piles up with 64 KiB than of eight, so that their delay by losses is
// between those of the eight's sizes in which as much piles up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_error.hpp"
#include "plan/monotone_curve.hpp"
#include "plan/prediction.hpp"

namespace headway {

struct MeasuredSize {
    double bytes = 0;         ///< of each message
    double time_s = 0;        ///< mean over calls, with their time-outs
    double timeout_part = 0;  ///< of calls that met a time-out, or are expected to
    bool was_lossy = false;
    double usual_s = 0;       ///< median of the calls that met none; 0: all met one, until it is learnt
};

/// Exchanges of one kind among the same hosts.
struct MeasuredExchanges {
    HostCounts spread;                ///< of the hosts over the clusters of the topology
    std::vector<MeasuredSize> sizes;  ///< ascending
    double overhead_s = 0;            ///< of the hosts: what the fluid model leaves out
};

/// How much longer than by the fluid model exchanges take.
struct MeasuredDelays {
    MonotoneCurve lossless_s;  ///< by the bytes of a message
    /// Beyond that, by the most bytes that piled up in front of a link: usually, and what time-outs add
    /// on average.
    MonotoneCurve losses_s, timeouts_s;
    MonotoneCurve timeout_part;  ///< by the same
};

/// Exchanges between neighbours on one grid.
struct MeasuredNeighbours {
    std::vector<std::pair<std::size_t, std::size_t>> flows;  ///< of messages between hosts, by their place in the document
    MeasuredExchanges exchanges;
    MeasuredDelays delays;
};

/// The part of a document of `headway measure` that plans use.
struct MeasuredCosts {
    std::vector<std::string> hosts;
    /// The least retransmission time-out in force on these hosts; none: it was not seen.
    std::optional<double> rto_s;
    std::vector<MeasuredExchanges> all_to_alls;  ///< of several numbers of hosts, all of them last
    MeasuredExchanges gather;                    ///< to the first host from all others
    std::vector<MeasuredNeighbours> neighbours;
    MeasuredDelays alltoall_delays, gather_delays;
};

/// Learns overheads and delays, and what calls usually take where all met a time-out, from what was measured on
/// that topology, which has these hosts.
void learn_delays(MeasuredCosts& costs, const Topology& topology);

/// Reads the document in `text`, on the topology in whose headway.toml it is named.  Fails if it is
/// none, has no measurements of messages, or is of hosts that the topology does not have.
[[nodiscard]] FileResult<MeasuredCosts> read_measured_costs(std::string_view text,
                                                            std::string_view file,
                                                            const Topology& topology);

/// Returns how long a time-out takes: as measured, or as the topology says.
[[nodiscard]] double rto_s(const Topology& topology);

/// Returns the time of an exchange, unpaced, by the measurements; `fluid`: what the fluid model
/// says of it. None: no measurement says anything of it.
[[nodiscard]] std::optional<Prediction::Measured> measured_time(const Topology& topology, const Exchange& exchange,
                                                                const Prediction& fluid);

}  // namespace headway

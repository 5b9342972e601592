// SPDX-License-Identifier: Apache-2.0
// What messages over TCP cost, alone and in collectives: the parameters of PlogP (Nomura et
// al. (1), Kielmann et al.), of Lastovetsky's point-to-point model and many-to-one, and of
// Steffenel's contention signature.  The models themselves are in models/.
//
// Vocabulary
//   RTT(m)    round trip of a message of m bytes that one byte answers
//   g(0)      of two small messages that follow each other, the time between them
//   break point   a size between which and its neighbours RTT is no straight line: the
//             middle of two measured sizes is measured, too, if the line between them
//             misses it by more than 5 % and its interval of confidence
//
// Every time is a mean with an interval of 95 % confidence; measurements are repeated until
// that is within 2.5 %, but no more than `rounds_max` times.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/confidence.hpp"
#include "measure/link_shares.hpp"
#include "measure/network_measurement.hpp"
#include "models/contention_fit.hpp"
#include "models/fitted_parameters.hpp"
#include "models/many_to_one_fit.hpp"
#include "models/plogpt_measure.hpp"

namespace headway {

/// A time to which rounds of a collective jump, and how often.
struct EscalationLevel {
    double time_s = 0;
    double probability = 0;
};

struct SizedTime {
    std::uint64_t bytes = 0;
    Mean time_s;  ///< of rounds that are on no level; 0: all are
    std::vector<double> rounds_s;
    std::uint64_t retransmissions = 0;
    /// The levels of exchanges and gathers, beyond the usual time; none: they never escalated.
    std::vector<EscalationLevel> levels{};
    double median_s = 0;  ///< of these, of rounds that are on no level
};

struct PairMessages {
    std::size_t from = 0, to = 0;
    std::vector<SizedTime> round_trips;  ///< by size; the first is of one byte
    Mean empty_gap_s;                    ///< g(0)
    double latency_s = 0;                ///< L
    std::vector<GapPoint> gap;           ///< g(m)
    TransmissionCost cost;               ///< alpha and beta, of one message one way
    /// The rate of a large message one way, alone and while another one of its size goes the other
    /// way; bytes of payload.
    double one_way_bytes_per_s = 0, both_ways_bytes_per_s = 0;
};

/// Rounds in which every host does its step when the others do, though no two clocks are compared: all are ready
/// first, then the first host, host 0, tells those first that hear of it last.  The step is what is timed.
/// `hears_s`: by host, how long a byte from host 0 takes; its own is not read.
[[nodiscard]] Rounds begun_together(std::vector<HostProgram> programs, std::span<const double> hears_s);

struct AllToAllTimes {
    std::size_t hosts = 0;
    std::vector<SizedTime> times;
};

/// Every host with those beside it on a grid, as a halo exchange.
struct NeighbourTimes {
    std::vector<Flow> flows;  ///< of one exchange; of a host, in the order in which it sends
    std::vector<SizedTime> times{};
};

/// A grid of all hosts with sides as equal as they can be, whose edges meet, as MPI_Dims_create and MPI_Cart_create make
/// it; a host sends to both neighbours along each side, and twice to one that is both.
[[nodiscard]] std::vector<Flow> neighbour_flows(std::size_t hosts, std::size_t dimensions);

/// PlogPT of this network: b(h) and d(h) from bursts at all heights, both ways at once as
/// collectives are; g(m) between hosts of one switch, L between those that are farthest apart.
struct MeasuredPlogpt {
    PlogptLinks links;  ///< of payload
    std::vector<GapPoint> gap;
    double latency_s = 0;
};

struct MeasuredMessages {
    std::vector<PairMessages> pairs;
    /// C and t of every host; empty: fewer than three hosts.
    std::vector<ProcessingDelay> hosts;
    MeasuredShares shares;
    std::vector<SizedTime> many_to_one;
    std::vector<SizedTime> one_to_many;  ///< until the last message has arrived
    std::vector<AllToAllTimes> all_to_all;
    std::vector<NeighbourTimes> neighbours;  ///< on grids of one, two and three dimensions
    std::uint32_t least_timeout_us = 0;  ///< for retransmission, of any connection; 0: not told
    std::optional<FittedContention> contention;
    std::optional<FittedManyToOne> many_to_one_fit;
    std::optional<MeasuredPlogpt> plogpt;
    std::vector<std::string> remarks;
    /// Why it has not been carried through; what was found until then stays of use.
    std::optional<Error> ended_by;
};

/// `network` is what was found before on the same hosts.
[[nodiscard]] MeasuredMessages measure_messages(Laboratory& laboratory, const MeasuredNetwork& network,
                                                const std::vector<std::string>& names,
                                                const MeasureProgress& progress);

/// Fits PlogPT.  Without heights, or without the messages' times, there is no fit, and a remark
/// says why.
[[nodiscard]] std::optional<MeasuredPlogpt> plogpt_of(const std::vector<MeasuredHeight>& heights,
                                                      const std::vector<PairMessages>& pairs,
                                                      std::vector<std::string>& remarks);

/// Groups slow rounds (at least `least_jump_s` above the fastest) into levels whose times are
/// within 10 % of each other; the reported time is the mean of the other rounds, with their median.
/// If even the fastest took `all_wait_from_s`, all rounds are on levels: the time and the median
/// are 0.
void tell_escalations(SizedTime& time, double least_jump_s, double all_wait_from_s);

/// alpha and beta of times one way, by least squares of relative errors.
[[nodiscard]] TransmissionCost transmission_cost(const std::vector<SizedTime>& round_trips);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// Messages as fluids: how fast flows get through a network whose senders may be
// paced, when the last one is done, and what piles up in front of every link.
//
// Sources: `bidirectional_max_min` of congestion.hpp (after Zhu et al., "Modeling
// contention effects by congestion factors") for the rates; PlogPT's event (14)
// for what a loss costs, see plogpt_rto.hpp.  The combination is Headway's own:
// no paper predicts a paced exchange.
//
// Vocabulary
//   link      one direction of a cable, with the buffer in front of it.  Of parallel links that a
//             hash chooses it is the fullest one, and a use has the flows that this one carries
//   flow      one message on its way
//   group     flows that are alike: the same bytes, the same kinds of links
//   use       how many of a group's flows one such link carries, and from how
//             many senders they come
//   cap       the rate at which the sender's qdisc releases a flow
//   arrival   the rate with which a flow may come to a link: its cap; without one
//             all of the sender's edge, shared by its flows to that link only,
//             because nothing keeps a sender from turning to one link at a time
//   overload  bytes that wait in front of a link at the worst moment
// In the terms of max_min.hpp a link is a constraint, a group a variable whose bound is its
// cap, and a use an element of both.
//
// Equations
//   rates     grow together from 0.  A flow stops at its cap, and when a link
//             that it uses, forwards or in reverse, is full.
//   time      whenever a group is done, the others' rates are found anew; the
//             exchange takes until the last one is done.
//   overload  flows arrive, less in proportion where a link before was full, until
//             their bytes are through.  With A the sum of
//             the arrivals and C the capacity, A - C is left in front of the link:
//             overload = (A - C) * duration while nothing ends.
//   loss      a link may lose packets only if its overload exceeds its buffer, and
//             the tail of a message that is lost costs a time-out.  A flow may
//             meet one on each such link of its path:
//             worst = time + T_RTO * (most overflowing links on any path)
//             The edge of the sender itself holds its surplus in the sender's
//             queue and loses nothing.
//
//   frames    hosts that all have caps send frames at even distances, but not in turn: frames of N
//             of them, which fill the link to rho, wait in front of it as in the queue N*D/D/1.
//             Of x frames of buffer more are needed with the probability (heavy traffic, Brownian
//             bridge; Roberts, Mocci, Virtamo, "Broadband Network Teletraffic", 1996)
//             exp(-2 x (x/N + 1 - rho)).  That part of its frames is lost, where x is known;
//             x is what the overload leaves of the buffer, rho 1 at the most.  It does not depend
//             on how long the exchange is.
//
// Units: bytes are wire bytes, rates bit/s, times s.
//
// Worked example: 4 senders of 20 Mbit/s each send 1 MB over 25 Mbit/s with a
// buffer of 64 KiB.  Unpaced 6.25 Mbit/s each: 1.28 s; 80 Mbit/s arrive for
// 0.4 s, overload (80 - 25) Mbit/s * 0.4 s / 8 = 2.75 MB: time-outs are possible,
// worst 1.48 s.  Capped at 6.25 Mbit/s: 1.28 s, overload 0, worst 1.28 s.
//
// Seven senders fill a link to 0.99, and its buffer holds 2.7 frames: 12 of 100 frames are lost
// (make bench-map, in gathers of 16 to 256 KiB: 4 to 10).  It holds 10.7: none of a million.  Fifteen senders
// of 4 KiB each to a port of 16 KiB, of which an overload of 12 KiB was relied on: 207 ms a call (make bench-decisions).
//
// Limits: no latency, no start of TCP, no ACKs beside what wire bytes include;
// arrivals do not grow when other flows of the sender end.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "plan/max_min.hpp"

namespace headway {

inline constexpr double fluid_no_cap = std::numeric_limits<double>::infinity();

struct FluidLink {
    static constexpr std::uint32_t no_reverse = MaxMinSystem::none;

    double capacity_bps = 0;   ///< positive
    double buffer_bytes = 0;   ///< what may wait in front of it without loss
    std::uint32_t reverse = no_reverse;  ///< the cable's other direction
    bool senders_edge = false;  ///< fed by one host alone, which keeps its surplus
    double fill = 1;  ///< it carries so many times the mean of links parallel to it
};

struct FluidUse {
    std::uint32_t link = 0;
    double flows = 0;    ///< of the group, on this link
    double senders = 0;  ///< hosts from which they come
};

struct FluidGroup {
    double bytes = 0;  ///< of each flow
    double cap_bps = fluid_no_cap;  ///< of each flow; positive
    std::uint32_t sender = 0;  ///< the same for groups of the same sending hosts, which are neighbours
    std::vector<FluidUse> path;  ///< from the sender to the receiver
};

struct FluidNetwork {
    std::vector<FluidLink> links;
    std::vector<FluidGroup> groups;
};

struct FluidOverload {
    double peak_bytes = 0;
    bool overflows = false;  ///< more than the buffer, and not the sender's own
    double frame_loss = 0;   ///< the part of its frames that is lost by chance, though all send evenly
};

struct FluidResult {
    double time_s = 0;        ///< without loss
    std::uint32_t timeouts = 0;  ///< that may hit one flow after the other
    double frame_loss = 0;       ///< at the link that loses most
    double piled_up_bytes = 0;   ///< the highest peak, but for senders' edges
    std::vector<FluidOverload> links;

    [[nodiscard]] double worst_s(double rto_s) const { return time_s + timeouts * rto_s; }
};

/// The probability that a frame of one of so many hosts, which send evenly, finds the buffer full.
[[nodiscard]] double frame_loss_probability(double senders, double load, double buffer_frames);

/// Rate of a flow of each group while all groups send.
[[nodiscard]] std::vector<double> fluid_rates_bps(const FluidNetwork& network);

/// Groups of 0 bytes are done at once.  Paths begin at the sender's own edge.
[[nodiscard]] FluidResult fluid_run(const FluidNetwork& network);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// How full the fullest of several parallel links becomes, if a hash chooses the link of each flow.
//
// Source: Headway's own.  Every flow takes each of the k links with the same probability, whatever
// the others do; so of m flows a link has as many as Binomial(m, 1/k) says.
//
// Vocabulary
//   flow      all that keeps to one link: what two ranks send each other, or two hosts where the
//             hash looks at addresses alone
//   draw      a choice of links for the flows of one direction of a trunk.  The directions of all
//             trunks that an exchange crosses are hashed by switches of their own
//   fill      what the fullest link carries, in parts of the mean of the k links: 1 .. k
//   worst     a fill that any link of any draw of the exchange exceeds with a probability of no more
//             than 1 %.  Plans rate every trunk by it
//   effective links  k / worst, 1 .. k: the trunk carries as much as so many links without a loss
//
// Equations
//   worst     P(some link has more than q flows) <= D k P(Binomial(m, 1/k) > q) <= 1 %, with D draws.
//             It is a bound, and nearly exact: that two links have so many is rarer by far.  The least
//             such q counts, and q k / m is the fill.
//   expected  mean of the fullest of the D k links, of which k - 1 in a draw are taken for independent:
//             sum over q of 1 - (1 - k/(k-1) P(Binomial(m, 1/k) > q))^(D (k-1)), from the mean on.
//             For k = 2 that is exact.
//   unequal   flows w_i load a link with more than x with a probability of at most
//             exp(-t x) prod (1 + (exp(t w_i) - 1) / k) for every t > 0 (Chernoff).  The least x with
//             which that is 1 % / (D k) counts, or what as many flows as large as the largest make, if
//             that is less.  Expected is as of (sum w)^2 / sum w^2 equal flows.
//
// Worked example: 8 + 8 hosts, 4 links, an all-to-all: 64 flows in each of two directions, 16 on a link
// on average.  8 P(Binomial(64, 1/4) > 26) is 1.6 %, and of more than 27 0.7 %: worst 27 / 16 = 1.69, so
// that 4 links of 1 Gbit/s carry 2.37 Gbit/s.
//
// Limits: hashes that are alike in two switches one behind the other leave some links empty, and fill
// others more than this says.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "network/topology.hpp"

namespace headway {

struct EqualFlows {
    double count = 0;
    double bytes = 0;  ///< of each
};

struct LinkFill {
    std::uint32_t links = 1;
    double flows = 0;     ///< in the direction
    double expected = 1;  ///< times the mean
    double worst = 1;     ///< times the mean

    [[nodiscard]] double effective_links() const { return links / worst; }
};

/// A direction of a trunk or an edge, as plans rate it.
struct RatedLink : TopologyLink {
    BitsPerSecond capacity;  ///< of all parallel links, until the fullest one is full
    LinkFill fill{};
};

/// Says how full the fullest of the links becomes by these flows.  `draws`: of
/// the whole exchange, at least 1.
[[nodiscard]] LinkFill fill_of(std::uint32_t links, std::span<const EqualFlows> flows, std::uint32_t draws);

/// What links of that rate carry together until the fullest one is full.
[[nodiscard]] BitsPerSecond carried_by(BitsPerSecond one_link, const LinkFill& fill);

/// Counts the draws of an exchange that crosses so many directions of hashed
/// trunks.
[[nodiscard]] std::uint32_t draws_of(const Topology& topology, std::uint32_t hashed_directions);

/// "4 links chosen by a hash, 64 flows: the fullest is expected to carry 1.32
/// times the mean, and at most 1.69 times in 99 of 100 cases"
[[nodiscard]] std::string fill_text(const LinkFill& fill);

}  // namespace headway

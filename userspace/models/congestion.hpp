// SPDX-License-Identifier: Apache-2.0
// Congestion factors: what each of many concurrent messages gets of NICs and
// backbones that they share, when traffic one way also slows the other way.
//
// Source: Zhu, Lastovetsky, Ali, Riesen, "Communication Models for Resource
// Constrained Hierarchical Ethernet Networks"; equation numbers are that
// paper's.
//
// Vocabulary
//   node        has one NIC, stands in one rack
//   link        a message (a,b) under way from node a to node b; the paper's
//               "logical communication link" e_ab
//   resource    one direction of a NIC, or of the cable that joins a rack to
//               the others; E-(x) links that leave by x, E+(x) that come in
//   beta        inverse bandwidth: beta_N of a NIC, beta_O of a rack's cable,
//               beta_E of a link that shares nothing (by default the NIC's)
//   S_ab        with-flow sets: the links that share a resource with (a,b)
//   Sbar_ab     contra-flow sets: those that use the same resources backwards
//
// Equations
//   (1) S_ab    = < E-(rack of a), E-(a), E+(b) >
//   (2) k_ab    = max over i of beta[i] |S_ab[i]|       congestion factor
//   (3) Sbar_ab = < E+(rack of a), E+(a), E-(b) >
//   (4) kbar_ab = max over i of beta[i] |Sbar_ab[i]|    reverse factor
//       Rack sets hold links between racks only, and are empty for a link
//       within a rack.
//   (5) fairness property: n links one way on one resource get
//       min(unshared, bandwidth / n) each
//   (6) asymmetric property: as (5) with n = max(incoming, outgoing)
//   (7) Algorithm 1 takes links by descending < max(k,kbar), k, kbar >; ties in
//       the order of input.  k stays, kbar shrinks when a contra set is emptied.
//
// Algorithm 1, one step for the link (a,b) that was taken
//   k >= kbar: over every i with beta[i] |S[i]| = k, the largest of
//       max(beta_E, |S[i] not done| / (1/beta[i] - sum of done bandwidths in S[i]))
//     is beta_ab.  A negative quotient falls to beta_E; a rest of exactly zero is
//     an error.
//   k < kbar: for every i with beta[i] |Sbar[i]| = kbar: if what is done in
//       Sbar[i] adds up to exactly 1/beta[i], beta_ab = max(beta_E, kbar); if not,
//       Sbar[i] is emptied.  A link that got nothing goes back (once).
//   "Exactly" and "=" have a relative tolerance of 1e-9.
//
// Variants
//   paper                  as above
//   feasible               a share is taken over all resources of the link, not
//                          the most congested only: never asks for more than
//                          there is
//   fairness_only          every contra set is empty: what (6) adds is left out
//   bidirectional_max_min  progressive filling: all links grow alike; one stops
//                          when any resource that it uses, forwards or
//                          backwards, is full.  Knows no order, never asks for
//                          more than there is: build plans on this one.
// The two that keep to the capacities also count E+(rack of b), which is the
// same set as E-(rack of a) as long as there are two racks.
//
// Units: bandwidths Mbit/s (any unit works), factors in units of beta_N, sizes
// Mbit, times s.
//
// Example (paper, 5.2): NICs of 940 Mbit/s.  Two links into a node and one out
// of it: for each max(k, kbar) = 2, and each gets 470; were the directions
// independent, the one out would get 940.  12 in and 1 out: 13 x 940/12 in total.
//
// Limits: no latency, so for large messages only (the paper: 10 MB and more).
// `paper` depends on the order of ties, and can ask for more than there is, or
// fail.  A link from a node to itself counts as leaving and entering by its NIC.
//
// Cost: n links take O(n log n) time in every variant; dynamic times run the
// variant once for each different time at which links finish.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace headway {

struct CongestionLink {
    std::uint32_t source = 0;  ///< a node
    std::uint32_t destination = 0;
};

struct CongestionPattern {
    double nic_bandwidth = 0;       ///< 1/beta_N, in each direction
    double backbone_bandwidth = 0;  ///< 1/beta_O of each rack's cable; may be infinite
    std::optional<double> unshared_bandwidth;  ///< 1/beta_E; none: the NIC's
    std::vector<std::uint32_t> rack_of_node;   ///< racks are numbered without gaps
    std::vector<CongestionLink> links;
};

enum class CongestionVariant { paper, feasible, fairness_only, bidirectional_max_min };

/// In units of beta_N: 2 means "shares as if two links were on one NIC".
struct CongestionFactors {
    double with_flow = 0;    ///< k (2)
    double contra_flow = 0;  ///< kbar (4)
};

/// (2) and (4) of every link.
[[nodiscard]] Result<std::vector<CongestionFactors>> congestion_factors(
    const CongestionPattern& pattern);

/// 1/beta_ab of every link.
[[nodiscard]] Result<std::vector<double>> congestion_bandwidths(const CongestionPattern& pattern,
                                                                CongestionVariant variant);

/// (5)
[[nodiscard]] double congestion_fair_share(std::uint64_t links, double bandwidth, double unshared);

/// (6)
[[nodiscard]] double congestion_asymmetric_share(std::uint64_t incoming, std::uint64_t outgoing,
                                                 double bandwidth, double unshared);

/// size / bandwidth: as if every link stayed until the last one has finished.
[[nodiscard]] Result<std::vector<double>> congestion_static_times_s(
    const CongestionPattern& pattern, CongestionVariant variant, std::span<const double> megabits);

/// Whenever a link finishes, those left get what the variant gives them.
[[nodiscard]] Result<std::vector<double>> congestion_dynamic_times_s(
    const CongestionPattern& pattern, CongestionVariant variant, std::span<const double> megabits);

}  // namespace headway

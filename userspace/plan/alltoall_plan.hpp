// SPDX-License-Identifier: Apache-2.0
// How fast each node may send during an all-to-all, so that the nodes together
// never ask more of a shared link than it has.
//
// Source: Takano et al., "Effects of Packet Pacing for MPI Programs in a Grid
// Environment", section II: MATB (maximum allowable transmission bandwidth of
// a node) = bandwidth of the shared link / number of nodes that can send over
// it; all-to-all (Table I, FT and IS): B/N.  Here for any tree of clusters of any
// size, each direction of each link by itself, in wire rates.
//
// Vocabulary
//   n_c   hosts of the job in cluster c; N = sum of the n_c
//   n_t   hosts of the job below trunk t, that is in the clusters whose way to the
//         centre it is part of; in a star n_t = n_c for the trunk of c
//   U     target utilisation: the part of a link's wire rate that is planned.
//         ACKs are charged to the classes, so U counts them and may be near 1.
//   x     wire rate of one pair of hosts, the same for all pairs
//
// Every pair of hosts exchanges as much as every other, so all should get the
// same x, and x is the largest for which every directed link suffices:
//   trunk t, up         n_t senders, each with N - n_t pairs   n_t (N - n_t) x <= U up_t
//   trunk t, down       N - n_t senders, each with n_t pairs   n_t (N - n_t) x <= U down_t
//   edge of a receiver  N - 1 senders, each with 1 pair        (N - 1) x       <= U host_c
// (a sender's own edge gives the same bound as a receiver's).  A trunk of several links that a hash
// chooses has up_t and down_t as hashed_links.hpp says for the flows of these pairs: the fullest link
// suffices.
//
// A node of c then gets n_r x towards each remote cluster r: its share of every
// trunk on the way.  Two clusters of n nodes: U B / n exactly.  Towards its own cluster it
// gets n_c x, but no more than the receivers' edges have left beside what
// comes in from the remote clusters: U host_c - (N - n_c) x.
//
// With a fixed divisor D (policy) a trunk's capacity is divided by D instead
// of by its number of senders.  With a divisor factor F (policy) every link's
// capacity is divided by F times more.
//
// Worked example: two clusters of 4 hosts, edges 20 Mbit/s, trunks 25 Mbit/s,
// U = 0.99.  Trunk: 16 x <= 24.75 Mbit/s, x = 1.546875 Mbit/s.  Edge: 7 x <=
// 19.8 Mbit/s, x <= 2.83 Mbit/s.  The trunk limits: 4 x = 6.1875 Mbit/s towards
// the other cluster; own cluster min(6.1875, 19.8 - 6.1875) = 6.1875 Mbit/s.
// Twice that below a centre, each pair of clusters behind a trunk of 40 Mbit/s:
// 16 hosts; a cluster's trunk carries 4 x 12 pairs, x <= 0.516, a pair's trunk
// 8 x 8, x <= 0.619 Mbit/s: the clusters' trunks limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "network/topology.hpp"
#include "plan/hashed_links.hpp"

namespace headway {

inline constexpr std::uint32_t utilisation_one = 1'000'000;  ///< "all of it", in millionths
inline constexpr std::uint32_t divisor_one = 1'000;          ///< "1", in thousandths
inline constexpr std::uint32_t divisor_max = 65'536 * divisor_one;
inline constexpr std::uint32_t divisor_factor_max = 4 * divisor_one;

struct PlanPolicy {
    std::uint32_t target_utilisation_millionths = 990'000;    ///< 1 .. utilisation_one
    std::optional<std::uint32_t> trunk_divisor_thousandths;   ///< none: the number of senders
    /// All links are divided by so many times more: divisor_one .. divisor_factor_max.
    /// More than 1 where they turned out to carry less than they are said to.
    std::uint32_t divisor_factor_thousandths = divisor_one;

    [[nodiscard]] double target_utilisation() const {
        return static_cast<double>(target_utilisation_millionths) / utilisation_one;
    }
    [[nodiscard]] double divisor_factor() const {
        return static_cast<double>(divisor_factor_thousandths) / divisor_one;
    }
};

/// The hosts that take part.
struct AllToAllPattern {
    HostCounts job;           ///< all hosts of the job
    HostCounts communicator;  ///< those of this communicator
    /// The caller knows that no other communicator of the job uses the same
    /// links at the same time.  Otherwise the job's other hosts are assumed to
    /// exchange as well, and get their share.
    bool siblings_disjoint = false;
    /// The most ranks that any host has; what a host sends to another is a
    /// message from each of its ranks to each of the other's.
    std::uint32_t ranks_per_host = 1;
    /// Who sends to whom is not known; each host may send to one other alone.
    bool is_sparse = false;

    /// Between two hosts: one of each rank to each of the other's.
    [[nodiscard]] double connections() const { return static_cast<double>(ranks_per_host) * ranks_per_host; }

    friend auto operator<=>(const AllToAllPattern&, const AllToAllPattern&) = default;
};

/// A directed link and how the plan divides it.
struct LinkShare : RatedLink {
    std::uint32_t senders = 0;          ///< hosts whose messages cross the link
    std::uint32_t pairs_per_sender = 0;  ///< pairs of each of them that cross it
    std::uint32_t divisor_thousandths = 0;  ///< what the capacity is divided by
};

struct AllToAllPlan {
    HostCounts hosts;  ///< those that were counted: the job's, or the communicator's
    /// The link that limits; none: nothing needs pacing, and there are no rates.
    std::optional<LinkShare> limit;
    double connections = 1;   ///< between two hosts
    BitsPerSecond pair_rate;  ///< x, rounded down, for people; with a limit only
    RatesByCluster rates;     ///< of each cluster's nodes; none: the job sends nothing there
    std::string reason;              ///< one sentence: why this limit, or why none
    std::vector<std::string> notes;  ///< further sentences a user should read

    [[nodiscard]] bool paced() const { return limit.has_value(); }
};

/// Plans an all-to-all (or all-to-allv, which is planned for its worst case:
/// all pairs alike).  `communicator` must be part of `job`.
///
/// Not paced: a communicator within one cluster; one that cannot ask any link
/// for more than it has even if every host sends as fast as its edge allows.
/// Fails if the share of a node would be less than the kernel can pace
/// (1 byte/s).
///
/// `sender_share_thousandths`: of the number of senders to divide by, without a divisor:
/// 1 .. divisor_one.  Less than all of it asks a trunk for more than it has, which short
/// messages may if its buffer holds the surplus.
[[nodiscard]] Result<AllToAllPlan> plan_alltoall(
    const Topology& topology, const PlanPolicy& policy, const AllToAllPattern& pattern,
    std::uint32_t sender_share_thousandths = divisor_one);

/// "4", "3.5".
[[nodiscard]] std::string divisor_to_text(std::uint32_t divisor_thousandths);

}  // namespace headway

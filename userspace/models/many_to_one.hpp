// SPDX-License-Identifier: Apache-2.0
// Messages of equal size between hosts of different speed: one to one, one to
// many, and many to one with its region of congestion.
//
// Source: Lastovetsky, Mkwawa, O'Flynn, "Modeling Performance of Many-to-One
// Collective Communication Operations in Heterogeneous Clusters" (UCD-CSI-2006-4);
// equation numbers are that report's.
//
// Vocabulary
//   M          size of every message, bytes
//   C_i, t_i   host i's fixed time for a message (s), and its time for each byte
//              of it (s/byte): its processing delay is C_i + t_i M
//   beta_ij    transmission RATE of the path from i to j, bytes/s
//   S          up to this size the sender's system buffers a message, and the
//              receivers of a one-to-many work in parallel
//   M1, M2     measured sizes between which a many-to-one is congested
//   C          measured time inside that region, s
//   Delta_1, Delta_2   measured factors below and above it
//
// Equations
//   (1) T_p2p = C_i + t_i M + C_j + t_j M + M/beta_ij
//   (2) one to n: C_0 + t_0 n M + { max over j of (C_j + t_j M + M/beta_0j)  M <= S
//                                 { sum over j of the same                  M > S
//   (3) independent pairs: max of their T_p2p
//   (4) many to one, M <= M1: Delta_1 linear, where
//       linear = C_0 + t_0 M + M/beta_0 + sum over the other sources of (C_i + t_i M)
//       and source 0 is the one with the least C + t M (of equals the first).
//   (5) the same with idle times of the receiver: Delta_1 (linear + T_idle)
//   (6) M1 < M <= M2: C
//   (7) M > M2: Delta_2 linear
//   T_idle: the receiver serves one message at a time.  It is done with message
//       0 when that arrives, at C_0 + t_0 M + M/beta_0.  Message i arrives at
//       C_i + t_i M + M/beta_i and takes C_i + t_i M; messages are served in order
//       of arrival (of equals, that with the smaller C + t M first).  T_idle is
//       the time the receiver waits after message 0.
//   Gather: many to one from all hosts but the root.
//
// Example: three sources with C = 1 ms, t = 0, M = 1000 bytes, rates 1 MB/s,
// 1 MB/s and 200 kB/s.  linear = 1 + 1 + 1 + 1 = 4 ms.  Message 0 arrives at 2
// ms; message 1 is served from 2 to 3 ms; message 2 arrives at 6 ms: T_idle = 3
// ms, and (5) gives 7 ms for Delta_1 = 1.
//
// Limits: one switch, each path has its own rate; M1, M2 (there 3 KiB and
// 64 KiB), C and the factors are measured, not derived.  (4) to (7) charge the
// receiver with the sources' delays, as the report does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace headway {

/// C and t of a host.
struct ProcessingDelay {
    double fixed_s = 0;
    double per_byte_s = 0;

    [[nodiscard]] double of(double message_bytes) const {
        return fixed_s + per_byte_s * message_bytes;
    }
};

/// The other end of a message, and the rate of the path to it; may be infinite.
struct DelayedPath {
    ProcessingDelay host;
    double rate_bytes_per_s = 0;
};

struct IndependentPair {
    ProcessingDelay source;
    ProcessingDelay destination;
    double rate_bytes_per_s = 0;
};

/// (1)
[[nodiscard]] double point_to_point_s(const IndependentPair& pair, double message_bytes);

/// (2); at least one destination.
[[nodiscard]] Result<double> one_to_many_s(const ProcessingDelay& root,
                                           std::span<const DelayedPath> destinations,
                                           double message_bytes, double buffered_bytes);

/// (3); at least one pair.
[[nodiscard]] Result<double> independent_pairs_s(std::span<const IndependentPair> pairs,
                                                 double message_bytes);

/// M1, M2, C, Delta_1 and Delta_2: what is measured of a network.
struct ManyToOneRegions {
    double small_bytes = 3.0 * 1024;   ///< M1; both as measured in the report
    double large_bytes = 64.0 * 1024;  ///< M2
    double congested_s = 0;
    double small_factor = 1;
    double large_factor = 1;
};

struct ManyToOneTime {
    double time_s = 0;
    double linear_s = 0;  ///< what Delta_1 and Delta_2 multiply in (4) and (7)
    double idle_s = 0;    ///< T_idle, also where it does not count
};

/// (5) counts the receiver's idle time, (4) does not.
enum class ReceiverIdle { ignored, counted };

/// (4) to (7); at least one source.
[[nodiscard]] Result<ManyToOneTime> many_to_one(std::span<const DelayedPath> sources,
                                                double message_bytes,
                                                const ManyToOneRegions& regions, ReceiverIdle idle);

/// The time of a gather: a message from every host but `root`.
[[nodiscard]] Result<ManyToOneTime> gather(std::span<const DelayedPath> hosts, std::size_t root,
                                           double message_bytes, const ManyToOneRegions& regions,
                                           ReceiverIdle idle);

}  // namespace headway

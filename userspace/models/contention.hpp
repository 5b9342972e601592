// SPDX-License-Identifier: Apache-2.0
// Contention signature: how much slower than its lower bound an all-to-all is on
// a given network, whatever the number of processes.
//
// Source: Steffenel, Martinasso, Trystram, "Assessing Contention Effects on
// MPI_Alltoall Communications" (GPC 2007); equation numbers are that paper's.
// contention_fit.hpp finds a signature from measured times.
//
// Vocabulary
//   n            processes of the exchange
//   m            size of every message, bytes; w[i][j]: of that from i to j
//   alpha, beta  start-up time (s) and time per byte (s/byte) of a message
//                between two processes when nothing else is under way
//   Delta_s, Delta_r   messages that the busiest process sends, receives
//   gamma        contention ratio: how much longer a byte takes
//   delta        start-up cost (s) of each message of M bytes or more
//
// Equations
//   Claim 3        T >= max(Delta_s, Delta_r) alpha + max(t_s, t_r)
//                  t_s = beta max over i of sum over j of w[i][j], t_r likewise of
//                  what j receives
//   Proposition 1  all messages alike: T >= (n - 1) (alpha + m beta)
//   (5)  T = (n - 1) (alpha + m beta gamma)            m < M
//        T = (n - 1) (alpha + m beta gamma + delta)    m >= M
//   (6)  two clusters, n1 <= n2, exchange inside first (T1, T2), then over the
//        wide-area link in ceil(n2/n1) steps:
//        T = max(T1, T2) + ceil(n2/n1) (alpha_w + beta_w m n)
//        Read literally n = n1 + n2; in the algorithm of the text one such
//        message carries the data of the n1 processes of the smaller cluster.
//        Messages over the wide area: 2 max(n1, n2) instead of 2 n1 n2.
//
// Example: alpha = 50 us, beta = 8 ns/byte, n = 40, m = 100 000.  The bound is 39
// (50 us + 800 us) = 33.15 ms.  With gamma = 4.3628 and delta = 4.93 ms (Gigabit
// Ethernet): 39 (50 us + 3490.24 us + 4930 us) = 330.3 ms.
//
// Limits: a message from a process to itself costs nothing, and one of no bytes
// is none (in a matrix; in Proposition 1 it costs alpha).  A signature holds for
// the network on which it was fitted, and only if that was saturated.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace headway {

/// alpha and beta.
struct TransmissionCost {
    double startup_s = 0;
    double per_byte_s = 0;

    [[nodiscard]] double of(double message_bytes) const {
        return startup_s + per_byte_s * message_bytes;
    }
};

/// gamma, delta and M.
struct ContentionSignature {
    double ratio = 1;
    double startup_s = 0;
    double threshold_bytes = std::numeric_limits<double>::infinity();
};

/// Claim 3; w is square.
[[nodiscard]] Result<double> exchange_bound_s(const std::vector<std::vector<double>>& bytes,
                                              const TransmissionCost& cost);

/// Proposition 1; at least one process.
[[nodiscard]] double alltoall_bound_s(std::uint64_t processes, double message_bytes,
                                      const TransmissionCost& cost);

/// (5); at least one process.
[[nodiscard]] double alltoall_contended_s(std::uint64_t processes, double message_bytes,
                                          const TransmissionCost& cost,
                                          const ContentionSignature& signature);

struct TwoClusterExchange {
    double literal_s = 0;                   ///< (6) with n = n1 + n2
    double packed_s = 0;                    ///< (6) with n = min(n1, n2)
    std::uint64_t two_phase_messages = 0;   ///< over the wide area
    std::uint64_t traditional_messages = 0;
};

/// (6); sizes in any order, neither of them 0.
[[nodiscard]] Result<TwoClusterExchange> two_cluster_exchange(
    std::pair<double, double> local_s, std::pair<std::uint64_t, std::uint64_t> processes,
    const TransmissionCost& wide_area, double message_bytes);

/// A signature of the paper's section 6.
struct PublishedSignature {
    std::string_view network;
    ContentionSignature signature;
    std::uint64_t fitted_processes;  ///< n'
    bool saturated;                  ///< the paper's finding: whether it extrapolates
};

/// The paper's kB are 1000 bytes.
inline constexpr std::array<PublishedSignature, 3> published_signatures{{
    {"Fast Ethernet", {1.0195, 8.23e-3, 2000}, 24, true},
    {"Gigabit Ethernet", {4.3628, 4.93e-3, 8000}, 40, true},
    {"Myrinet", {2.49754, 0, std::numeric_limits<double>::infinity()}, 24, false},
}};

}  // namespace headway

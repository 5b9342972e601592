// SPDX-License-Identifier: Apache-2.0
// What two looks at a node mean: what costs performance, and what to do about it.  Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "doctor/cause.hpp"
#include "doctor/look.hpp"

namespace headway {

enum class Weight {
    stalls,  ///< connections stand still for long
    loses,   ///< packets or bandwidth are lost
    slows,   ///< a setting costs time in some exchanges
    note,    ///< good to know; costs nothing by itself
};
[[nodiscard]] const char* weight_name(Weight weight);

struct Finding {
    Weight weight = Weight::note;
    Cause cause{};
    std::string seen;   ///< a sentence
    std::string to_do;  ///< a sentence, with the command that mends it where there is one
    bool explains_losses = false;  ///< packets are lost by this, and not in full switch buffers
};

/// The most important one first.  `between`: from one look to the other.
[[nodiscard]] std::vector<Finding> judge(const Look& before, const Look& after,
                                         std::chrono::duration<double> between);

/// TCP repairs fewer retransmissions than this, of the segments sent, within a round trip.
inline constexpr double retransmitted_share = 0.001;

/// What TCP has sent from one look to the other.
struct Sent {
    std::uint64_t segments = 0;  ///< by this node, with and without data
    std::uint64_t again = 0;     ///< retransmissions of these
    std::uint64_t timeouts = 0;  ///< of connections that were there: those of opening one do not count
    std::uint64_t hosts_segments = 0;  ///< to the hosts that were named, with data
    std::uint64_t hosts_again = 0;     ///< retransmissions of these
};
[[nodiscard]] Sent sent_between(const Look& before, const Look& after);

/// What a connection has counted before a look; nothing: it was not there yet.
[[nodiscard]] TcpInfoCounts counted_before(const Look& look, std::uint64_t cookie);

/// The least retransmission time-out towards a host: its route's, or the system's.
[[nodiscard]] double rto_min_ms(const Look& look, const HostPath& path);
/// Of the hosts that were named, the least.
[[nodiscard]] double least_rto_ms(const Look& look);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// What `headway measure` has seen of messages on this network, and what that says of an
// exchange.
//
// Source: Headway's own.  The papers' models are fitted to the same times, but do not decide:
// an all-to-all jumps from what its links need to a time-out, which Steffenel's straight line
// does not (in the emulated `rack` it misses the shorter messages by 80 %).
//
// Of which exchanges it says something
//   all-to-all   every host sends the same amount to every other one; as many hosts as were
//                measured, spread over the clusters as those within one host of each cluster
//   gather       all send the same amount to one, and they are as many as were measured.  Of
//                fewer senders: what was lost by bursts of as many bytes into one port, that is
//                the time of the fluid model and the delay of such a burst
// Between two measured sizes times lie on the straight line, beyond them nothing is said.
//
// Times are means over calls, with the time-outs of those that met some.  Where packets were lost
// and none of n calls met a time-out, one in n / 3 may (with 95 % confidence less), so that a mean
// is taken to be longer by 3 / n of a time-out.  Times decide only where packets were lost: a dozen
// calls without a loss do not say that there is none in a thousand.
//
// Paced, an exchange takes what the fluid model says for its rates, and what the smallest
// measured one took beside what that model says of it: the work of hosts, which pacing leaves.
//
// Example: measured 0.55 ms for 4 KiB, and for 64 KiB 84 ms with losses.  If the fluid model says
// 0.46 ms for 4 KiB and 7.5 ms for 64 KiB paced, 64 KiB take 7.6 ms paced: pacing helps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_error.hpp"
#include "plan/prediction.hpp"

namespace headway {

inline constexpr double rto_default_s = 0.2;  ///< Linux' least retransmission time-out

struct MeasuredSize {
    double bytes = 0;    ///< of each message
    double time_s = 0;   ///< mean over calls, with their time-outs
    double delay_s = 0;  ///< the part of it that time-outs made, or may have
    bool was_lossy = false;
};

/// What plans use of a document that `headway measure` has written.
struct MeasuredCosts {
    std::vector<std::string> hosts;
    HostCounts spread;  ///< of the hosts over the clusters of the topology
    /// The least retransmission time-out in force on these hosts; none: it was not seen.
    std::optional<double> rto_s;
    std::vector<MeasuredSize> all_to_all;  ///< among all hosts, by size
    std::vector<MeasuredSize> gather;      ///< to one from all others, by size
};

/// Of the document in `text`, on the topology in whose headway.toml it is named.  Fails if it
/// is none, has no measurements of messages, or is of hosts that the topology does not have.
[[nodiscard]] FileResult<MeasuredCosts> read_measured_costs(std::string_view text,
                                                            std::string_view file,
                                                            const Topology& topology);

/// What a time-out takes: as measured, or Linux' default.
[[nodiscard]] double rto_s(const Topology& topology);

/// What the measurements say of an exchange.
struct MeasuredTimes {
    Prediction::Measured unpaced;
    double overhead_s = 0;  ///< of the hosts: what the fluid model leaves out
};

/// None: nothing was measured that says something of it.
[[nodiscard]] std::optional<MeasuredTimes> measured_times(const Topology& topology,
                                                          const Exchange& exchange);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// What `headway measure` has found about messages on this network, and what that says of an
// exchange.
//
// Source: the contention signature is Steffenel's (model/contention.hpp), many-to-one is
// Lastovetsky's (model/many_to_one.hpp).  That they decide plans, and how, is Headway's own.
//
// Of which exchanges they say something
//   all-to-all   every host sends the same amount to every other one, and the hosts are spread
//                over the clusters as those of the measurement were (within one host of each
//                cluster): T = (5) of contention.hpp, time-outs included, as they were part of
//                the measured times.
//   gather       all send the same amount to one.  As many as were measured: T = (4), (6) or (7)
//                of many_to_one.hpp.  Fewer: (4), and the delay D(B) by time-outs that was seen,
//                on average, when B bytes burst into the one's port.  With levels of
//                escalation t_i of probabilities p_i beside the usual time t of a measured size,
//                D = sum of p_i (t_i - t) at B = senders x size, and between two of them on the
//                straight line; so it is told by burst what was seen by size and number of senders.
// Of any other exchange they say nothing, and the fluid model decides as without them.
//
// Paced, an exchange takes what the fluid model says for its rates and, as that knows nothing
// of the hosts, what its messages take to start; but no less than the models' own lower bound
// (Proposition 1; the linear part of (4)).
//
// Example: the signature alpha = 50 us, beta = 8 ns/byte, gamma = 4, delta = 0, measured on 4
// + 4 hosts.  An all-to-all of 64 KiB among them takes 7 (50 us + 4 x 524.3 us) = 15.03 ms
// unpaced.  If the fluid model says 9 ms paced, it takes 9.35 ms paced: pacing helps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_error.hpp"
#include "base/json_reader.hpp"
#include "model/contention.hpp"
#include "model/many_to_one.hpp"
#include "plan/collective.hpp"

namespace headway {

struct FittedContention {
    ContentionSignature signature;
    TransmissionCost cost;
    std::uint64_t processes = 0;  ///< of the measurements
};

struct FittedManyToOne {
    std::vector<DelayedPath> sources;  ///< at least one
    ManyToOneRegions regions;
};

/// Time-outs of messages that burst into one host's port, as they were seen.
struct MeasuredBurst {
    double bytes = 0;    ///< of all senders' messages together
    double delay_s = 0;  ///< by time-outs, on average over calls
};

/// What plans use of a document that `headway measure` has written.
struct MeasuredCosts {
    std::vector<std::string> hosts;
    HostCounts spread;  ///< of the hosts over the clusters of the topology
    /// The least retransmission time-out in force on these hosts; none: it was not seen.
    std::optional<double> rto_s;
    std::optional<FittedContention> contention;
    std::optional<FittedManyToOne> many_to_one;
    std::vector<MeasuredBurst> bursts;  ///< by bytes
};

/// The members of one of the document's "models", after "model".  Errors name the member.
[[nodiscard]] tl::expected<FittedContention, std::string> read_contention(JsonReader& in);
[[nodiscard]] tl::expected<FittedManyToOne, std::string> read_many_to_one(JsonReader& in);

/// Of the document in `text`, on the topology in whose headway.toml it is named.  Fails if it
/// is none, has no measurements of messages, or is of hosts that the topology does not have.
[[nodiscard]] FileResult<MeasuredCosts> read_measured_costs(std::string_view text,
                                                            std::string_view file,
                                                            const Topology& topology);

/// What a time-out takes: as measured, or Linux' default.
[[nodiscard]] double rto_s(const Topology& topology);

/// What the measurements say of an exchange.
struct MeasuredTimes {
    std::string model;     ///< "the contention signature measured on 8 hosts"
    double unpaced_s = 0;  ///< with the time-outs that it usually meets
    double startup_s = 0;  ///< what its messages take to start, paced or not
    double least_s = 0;    ///< what it takes on a network without contention

    [[nodiscard]] double paced_s(double fluid_s) const;
};

/// None: nothing was measured that says something of it.
[[nodiscard]] std::optional<MeasuredTimes> measured_times(const Topology& topology,
                                                          const Exchange& exchange);

}  // namespace headway

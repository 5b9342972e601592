// SPDX-License-Identifier: Apache-2.0
// What can be tried on a network to learn about it: all that the inference of this folder
// knows of the real world.  Unit tests bring a computed network instead of hosts.
//
// Two kinds of experiment:
//   bulk     hosts send UDP frames to each other as fast as their interface takes them,
//            for a few milliseconds; other hosts may look at round trips meanwhile
//   rounds   hosts exchange messages over TCP by a fixed program, several times
//
// No result compares the clocks of two hosts: a rate is a receiver's own, a round trip the
// prober's, and the time of a round that of the host that reports it.
//
// A host is a number: its place in --hosts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace headway {

/// Hosts, by number.
struct Flow {
    std::size_t from = 0;
    std::size_t to = 0;
    double bytes_per_s = 0;  ///< of wire bytes; 0: as fast as the interface takes them

    bool operator==(const Flow&) const = default;
};

/// Round trips of single frames, `interval` apart.
struct Probe {
    std::size_t from = 0;
    std::size_t to = 0;
    std::uint32_t count = 1;
    bool is_full_frame = false;  ///< as long as the MTU allows, there and back; else as short as it gets
    std::chrono::nanoseconds interval{};
};

/// Everything happens at once.  A host that sends does not probe.
struct Bulk {
    std::vector<Flow> flows;
    std::vector<Probe> probes;
    std::chrono::nanoseconds duration{};  ///< of the flows
};

/// The result of a flow.  Bytes are those of the wire; see base/wire.hpp.
struct FlowOutcome {
    std::uint64_t sent_frames = 0;
    std::uint64_t sent_wire_bytes = 0;
    std::uint64_t received_frames = 0;
    /// Arrived in the middle half of the flow, while all flows were running.
    double received_bytes_per_s = 0;
    /// The sender had to wait for its interface: that was full, and not the host too slow.
    bool fills_interface = false;

    [[nodiscard]] bool has_loss() const { return received_frames < sent_frames; }
};

struct ProbeOutcome {
    std::vector<double> round_trip_s;  ///< of the frames that came back, shortest first
    std::uint32_t lost = 0;
    double wire_bytes = 0;  ///< of a frame, one way

    [[nodiscard]] bool was_answered() const { return !round_trip_s.empty(); }
};

struct BulkOutcome {
    std::vector<FlowOutcome> flows;
    std::vector<ProbeOutcome> probes;
    /// Frames that arrived at a host but did not fit into its socket: noise of the
    /// measurement, not of the network.
    std::uint64_t socket_drops = 0;
};

struct Transfer {
    std::size_t peer = 0;
    std::uint64_t bytes = 1;
};

/// Ends when everything in it has been sent and received.
struct Step {
    std::vector<Transfer> send;
    std::vector<Transfer> receive;
    std::chrono::nanoseconds pause{};  ///< before it
};

struct HostProgram {
    std::size_t host = 0;
    std::vector<Step> steps;  ///< of one round
    /// A round's time begins after so many steps, and after the pause of the next one.
    std::size_t untimed_steps = 0;
};

/// The programs of all hosts: each host receives in a round what the others send to it.
struct Rounds {
    std::vector<HostProgram> programs;
    std::uint32_t count = 1;
    bool tells_receipts = false;  ///< ProgramOutcome::received_s is wanted
};

/// The result of one host's program.
struct ProgramOutcome {
    std::vector<double> round_s;
    /// By round, if wanted: when the host had received each transfer of the last step, from the
    /// beginning of the round's time.
    std::vector<std::vector<double>> received_s;
    /// Segments, of all its connections, in these rounds; not those of what had arrived.
    std::uint64_t retransmissions = 0;
    std::uint32_t retransmission_timeout_us = 0;  ///< the least in force on its connections
};

/// How frames from one host came to another, as that one saw it, and how its own leave for it.
struct SeenRoute {
    std::size_t from = 0;
    std::size_t to = 0;
    std::optional<unsigned> hops;  ///< routers that they passed
    std::string enters;            ///< the interface of `to` by which they came; "": not known
    std::string leaves;            ///< that by which frames for `from` leave `to`; "": not known
};

class Laboratory {
public:
    virtual ~Laboratory() = default;
    [[nodiscard]] virtual std::size_t host_count() const = 0;
    /// Errors name the host.
    [[nodiscard]] virtual Result<BulkOutcome> run(const Bulk& bulk) = 0;
    [[nodiscard]] virtual Result<std::vector<ProgramOutcome>> run(const Rounds& rounds) = 0;
    /// Rounds that follow have new connections, which have lost nothing yet.
    virtual void connect_anew() = 0;
    /// Returns the routes of the probes so far, there and back.
    [[nodiscard]] virtual Result<std::vector<SeenRoute>> routes() = 0;
    /// By how much hosts begin an experiment earlier or later than others at most.
    [[nodiscard]] virtual std::chrono::nanoseconds start_skew() const = 0;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// How much further than by its senders each link is divided, from what paced
// connections lose.
//
// The planner believes what the topology says: what links carry, what buffers hold,
// that nobody else uses them.  Where that is too good, packets are lost and time-outs
// come.  The levels, from the planner's own: no trust in buffers (factor 1), then
// every link divided by 1.1, 1.2, ... times more, up to a bound.
//
// Up: a time-out keeps an exchange waiting for about 0.2 s.  If in the last ten
// seconds of traffic such waits, in two of its seconds at least, took more of the time
// than the next level costs; or if more than a part of the segments, 0.01, were sent
// again.
// Down: after a time of traffic without either, 60 s.  If the lower level turns out
// to lose packets within that time, it was needed: the next try comes after twice
// the time, up to an hour; each try that holds halves it again.
// Seconds without traffic tell nothing and do not count, nor does the first one after a
// change.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ip_prefix.hpp"
#include "config/config_tables.hpp"
#include "look/tcp_sockets.hpp"
#include "plan/alltoall_plan.hpp"

namespace headway {

/// Counts of the time between two looks.
struct FlowLosses {
    std::uint64_t segments = 0;
    std::uint64_t retransmissions = 0;
    std::uint64_t timeouts = 0;

    friend bool operator==(const FlowLosses&, const FlowLosses&) = default;
};

/// Counts the losses of connections to given addresses: of paced traffic, among all that the node
/// has.  A connection that ended between two looks counts up to the first of them.
class FlowCounts {
public:
    explicit FlowCounts(std::vector<IpPrefix> destinations)
        : destinations_(std::move(destinations)) {}

    /// All connections as they are now, and the time-outs of all the node's TCP so
    /// far.  None: the first look, there is nothing to compare with.
    ///
    /// Where the kernel does not count time-outs by socket (before Linux 6.7) they
    /// are those of the node, but no more than segments were sent again to the
    /// destinations: each time-out sends one.
    [[nodiscard]] std::optional<FlowLosses> look(std::span<const TcpFlow> flows,
                                                 std::optional<std::uint64_t> node_timeouts);

private:
    [[nodiscard]] bool is_watched(const IpPrefix& remote) const;

    std::vector<IpPrefix> destinations_;
    bool has_looked_ = false;
    std::unordered_map<std::uint64_t, FlowLosses> seen_;  ///< since the connection's beginning
    std::optional<std::uint64_t> node_timeouts_;
};

/// None: plans trust the configuration.
using DivisorFactor = std::optional<std::uint32_t>;  // in thousandths

struct FactorChange {
    DivisorFactor from;
    DivisorFactor to;
    FlowLosses losses;  ///< what led to it, in `over` of traffic
    std::chrono::nanoseconds over{};
};

class DivisorControl {
public:
    explicit DivisorControl(const FeedbackBounds& bounds)
        : bounds_(bounds), quiet_(bounds.quiet) {}

    [[nodiscard]] DivisorFactor factor() const { return factor_; }
    /// There are losses for which the factor would have to be more than it may.
    [[nodiscard]] bool is_at_its_bound() const { return is_at_its_bound_; }
    /// How long without losses until the factor is tried lower.
    [[nodiscard]] std::chrono::nanoseconds quiet() const { return quiet_; }

    /// Judges the losses of the last `interval` and returns the change that follows.
    std::optional<FactorChange> look(const FlowLosses& losses, std::chrono::nanoseconds interval);

private:
    struct Interval {
        FlowLosses losses;
        std::chrono::nanoseconds length{};
    };

    [[nodiscard]] Interval recent() const;
    [[nodiscard]] bool is_much_again(const FlowLosses& losses) const;
    [[nodiscard]] bool is_too_much(const Interval& sum) const;
    std::optional<FactorChange> raise(const Interval& sum);
    std::optional<FactorChange> lower();
    FactorChange change_to(DivisorFactor to, const Interval& why);

    FeedbackBounds bounds_;
    DivisorFactor factor_;
    bool is_at_its_bound_ = false;
    bool was_lowered_ = false;  ///< by the last change
    bool has_just_changed_ = false;
    std::deque<Interval> recent_;  ///< with traffic, since the last change
    Interval calm_;                ///< since the last change or loss
    std::chrono::nanoseconds quiet_;
};

}  // namespace headway

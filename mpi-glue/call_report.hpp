// SPDX-License-Identifier: MIT
// What a job's collectives did, for HEADWAY_REPORT: one rank's rows, those of all
// ranks put together, as JSON and as a table for people.  Knows nothing of MPI.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "json_object.hpp"
#include "own_connections.hpp"

namespace headway::glue {

/// Durations, counted in classes that are 1/32 of a power of two wide: a median is
/// right to 3 %, the shortest and the longest are exact.
class Durations {
public:
    void add(std::uint64_t ns);
    void add(const Durations& other);

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::uint64_t shortest_ns() const { return shortest_ns_; }
    [[nodiscard]] std::uint64_t longest_ns() const { return longest_ns_; }
    [[nodiscard]] std::uint64_t median_ns() const;

    [[nodiscard]] std::string to_json() const;
    /// Reads the durations of the object that `path` leads to.
    [[nodiscard]] static std::optional<Durations> from_json(const JsonObject& json, const std::string& path);

private:
    std::map<std::uint32_t, std::uint64_t> classes_;
    std::uint64_t count_ = 0;
    std::uint64_t shortest_ns_ = UINT64_MAX;
    std::uint64_t longest_ns_ = 0;
};

/// Calls that are told apart.
struct CallKind {
    std::string communicator;  ///< its name, or how many ranks it has
    std::string operation;  ///< "alltoall", "ialltoall", "alltoall_init"
    std::size_t size_class = 0;  ///< the largest message has 2^size_class bytes at most
    std::string algorithm;       ///< "native": the MPI library's own choice
    bool paced = false;
    std::string reason;  ///< why it is not paced

    friend auto operator<=>(const CallKind&, const CallKind&) = default;
};

struct CallRow {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;  ///< sum of each call's largest message from one rank to another
    Durations durations;      ///< of each call at each rank whose end was seen
    std::optional<double> predicted_s;  ///< by the planner, of one call

    /// How many times as long as predicted the median is; none: not predicted, or nobody
    /// saw an end.
    [[nodiscard]] std::optional<double> ratio() const;
};

/// The counters of the node's TCP.
struct NodeCounters {
    std::uint64_t timeouts = 0;         ///< whosever, between MPI_Init and MPI_Finalize
    std::uint64_t retransmissions = 0;  ///< segments, the same
    ConnectionCounters own{};           ///< those of the job's ranks
};

/// The report of one rank, or of all ranks put together.
class CallReport {
public:
    /// `duration`: none of a call whose end nobody saw.
    void add(const CallKind& kind, std::uint64_t bytes,
             std::optional<std::chrono::nanoseconds> duration);

    [[nodiscard]] std::map<CallKind, CallRow>& rows() { return rows_; }
    [[nodiscard]] const std::map<CallKind, CallRow>& rows() const { return rows_; }
    void set_node(std::string node, NodeCounters counters);
    /// By a number that no other run has; 0: none could be drawn.
    void set_run(std::uint64_t run) {
        if (run != 0) runs_ = {run};
    }
    void set_daemon_wait(std::chrono::nanoseconds waited) { daemon_wait_ = waited; }

    /// Adds another rank's report.  Every member of a collective has made the same calls, so calls
    /// and bytes are those of the rank that made the most.
    void add(const CallReport& other);

    /// Adds another run's report: its calls and packets are more ones; its predictions replace
    /// those of the same calls.
    void add_run(const CallReport& other);

    /// Whether a run that is told in the other report is told in this one.  A report that does not
    /// say of which run it is has none.
    [[nodiscard]] bool has_run_of(const CallReport& other) const;

    /// A line for each kind of calls and each node.
    [[nodiscard]] std::string to_json() const;
    [[nodiscard]] static tl::expected<CallReport, std::string> from_json(std::string text);

    /// Lines for people, longest total time first.
    [[nodiscard]] std::string table() const;

private:
    std::map<CallKind, CallRow> rows_;
    std::map<std::string, NodeCounters> nodes_;
    std::vector<std::uint64_t> runs_;
    std::chrono::nanoseconds daemon_wait_{};  ///< of the rank that waited the longest
};

}  // namespace headway::glue

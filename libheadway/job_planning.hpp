// SPDX-License-Identifier: MIT
// The dealings with the job's own planner, where no node has a daemon (planner_process.hpp): rank
// 0's of an MPI job, and each process's of another.  It is asked once for each pattern and size; if
// it is gone, what it has said holds on.
//
// Not thread safe: the caller serialises.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "network_links.hpp"
#include "planner_process.hpp"
#include "rank_rates.hpp"
#include "session.hpp"

namespace headway::glue {

/// What the planner says of the job's hosts.
struct PlannedNetwork {
    std::string name;                   ///< of its description, for people
    std::vector<std::string> clusters;  ///< by host; "": it is in none
    std::uint64_t min_message_bytes = 0;
    NetworkLinks links;
    std::string text;  ///< as it came, to be told to other processes

    /// None: it is no answer, or one of another number of hosts.
    [[nodiscard]] static std::optional<PlannedNetwork> read(const std::string& text,
                                                            std::size_t hosts);
};

/// What it says of a pattern with messages of one size.
struct PlannedCall {
    Algorithm algorithm = Algorithm::native;
    bool is_paced = false;
    bool is_lossless = false;  ///< not paced, because no buffer can overflow
    std::string reason;        ///< why it is paced, or why not, for people
    std::optional<PredictedTime> predicted;
    /// Of nodes from each cluster, towards each; empty: not paced.
    std::vector<std::uint64_t> bytes_per_s;
    std::uint64_t piece_frames = 1;  ///< that a piece of a message fills; the same for all sizes
};

/// Of a pattern on a communicator: who is asked about, and the names of its hosts' clusters, in
/// their order.
struct PlannedPattern {
    PatternKey key;
    std::vector<std::string> clusters;
};

class JobPlanning {
public:
    /// `hosts`: of the job; they have to be there as long as the object.
    [[nodiscard]] static LinkResult<JobPlanning> start(const PlannerPlan& plan,
                                                       const JobHosts& hosts,
                                                       bool siblings_disjoint);

    [[nodiscard]] LinkResult<PlannedNetwork> look_at();

    /// Null: the planner has no answer.  What is given stays as long as the object.
    [[nodiscard]] const PlannedCall* plan(const PlannedPattern& pattern,
                                          std::optional<std::uint64_t> bytes);
    /// Of all sizes; null: no size is paced, or the planner has no answer.
    [[nodiscard]] const NodeRates* rates(const PlannedPattern& pattern);

    /// What plan() has said; null: it was not asked.
    [[nodiscard]] const PlannedCall* planned(const PatternKey& key, std::uint64_t bytes) const;

private:
    JobPlanning(DaemonLink link, const JobHosts& hosts, bool siblings_disjoint)
        : link_(std::move(link)), hosts_(&hosts), siblings_disjoint_(siblings_disjoint) {}

    [[nodiscard]] std::optional<NodeRates> rates_anew(const PlannedPattern& pattern);

    DaemonLink link_;
    const JobHosts* hosts_;
    bool siblings_disjoint_;
    bool is_gone_ = false;
    std::uint32_t numbers_ = 0;
    /// By class of size.
    std::map<std::pair<PatternKey, std::size_t>, std::optional<PlannedCall>> calls_;
    std::map<PatternKey, std::optional<NodeRates>> rates_;
};

}  // namespace headway::glue

// SPDX-License-Identifier: MIT
// What a process without MPI sends by clocks of its own, where its node has no headwayd, at the
// rates of a planner of its own (job_planning.hpp).  All processes of a job come to the same plans,
// as they have the same description of the network.
//
// A cluster has a clock, and each host that gets a message has one, too, by which the cluster's
// hosts have their turns, however the program asks.  The first turn is that of the host at this
// one's own place: else the hosts of a cluster would all begin with the same one.
//
// Not thread safe: the caller serialises.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "job_planning.hpp"
#include "send_clock.hpp"

namespace headway::glue {

/// How much may leave now; of nothing, when to ask again.
struct MaySend {
    std::size_t bytes = 0;
    std::chrono::nanoseconds wait{};
};

class OwnPacing {
public:
    /// `hosts` have to be there as long as the object; `own_host` is one of them.  Fails if there
    /// is no planner, or hosts are in no cluster.
    [[nodiscard]] static LinkResult<OwnPacing> begin(const PlannerPlan& plan, const JobHosts& hosts,
                                                     const std::string& own_host,
                                                     bool siblings_disjoint);

    /// Messages of that size begin to be paced, in place of what was entered before.  An empty
    /// text, or why they are not.
    [[nodiscard]] std::string enter(const PatternKey& key, std::uint64_t bytes,
                                    SendClock::Clock::time_point now);
    void leave();

    /// Of `bytes` that are left of a message to a host, by its place among those of the job.
    [[nodiscard]] MaySend may_send(std::size_t host, std::size_t bytes,
                                   SendClock::Clock::time_point now);

private:
    OwnPacing(JobPlanning planning, const JobHosts& hosts, std::vector<std::string> cluster_of_host,
              std::size_t own)
        : planning_(std::move(planning)),
          hosts_(&hosts),
          cluster_of_host_(std::move(cluster_of_host)),
          own_(own) {}

    JobPlanning planning_;
    const JobHosts* hosts_;
    std::vector<std::string> cluster_of_host_;
    std::size_t own_;  ///< this process's host
    struct Limit {
        SendClock clock;
        SendClock* cluster = nullptr;  ///< null: there is no limit
    };
    [[nodiscard]] std::vector<std::size_t> receivers_in(const std::string& cluster,
                                                        const PatternKey& key) const;
    void limit(const std::vector<std::size_t>& receivers, std::uint64_t bytes_per_s,
               SendClock::Clock::time_point now);

    std::list<SendClock> clocks_;  ///< of the clusters
    std::vector<Limit> limits_;    ///< by host; none: nothing is entered
    std::size_t piece_bytes_ = 0;
    std::unique_ptr<ExactPauses> exactly_;  ///< while something is paced
};

}  // namespace headway::glue

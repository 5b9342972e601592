// SPDX-License-Identifier: Apache-2.0
// Plans for a job on nodes without headwayd: what every node may send, in one answer.
//
// One process of the job asks, rank 0's planner (`headway planner`), and hands the answer on to the
// others.  Requests are those of the control protocol (Documentation/control-protocol.rst, "A job's own
// planner"): "clusters" and "phase"; all others are refused.
//
// Ranks pace by clocks of their own, which charge nobody for acknowledgements.  So the plans leave room for them
// on every link.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/node_planner.hpp"
#include "protocol/protocol.hpp"

namespace headway {

class JobPlanner {
public:
    /// Fails if the configuration has no host.  What it says of this node does not count.
    [[nodiscard]] static Result<JobPlanner> make(Config config);

    /// To one datagram, whatever is in it.
    [[nodiscard]] std::string answer(std::string_view datagram);

private:
    explicit JobPlanner(NodePlanner planner) : planner_(std::move(planner)) {}

    template <class Body>
    Result<Json> serve(const Body&, Json answer);
    [[nodiscard]] Result<const NodePlanner*> planner_of(std::size_t host);
    /// By cluster.
    using Hosts = std::map<std::size_t, std::pair<std::size_t, std::size_t>>;
    struct Rates {
        /// Bytes of wire time per second, 0 without limit: of each cluster's hosts, towards each cluster.
        std::vector<std::uint64_t> rates;
        std::optional<NodePlan> said;  ///< of what else there is to say
    };
    [[nodiscard]] Result<Hosts> hosts_to_plan(const CollectiveHosts& hosts) const;
    [[nodiscard]] Result<NodePlan> plan_of(std::size_t host, const PhaseRequest& request);
    [[nodiscard]] std::uint64_t fastest_node(const Rates& found, std::size_t clusters,
                                             bool has_root) const;
    [[nodiscard]] std::uint64_t frames_held(double senders) const;
    [[nodiscard]] Result<std::optional<std::uint64_t>> piece_frames(PhaseRequest request,
                                                                    const Hosts& hosts);
    [[nodiscard]] bool is_held_by_windows(const PhaseRequest& request, const Rates& found,
                                          const Hosts& hosts) const;
    [[nodiscard]] Result<Rates> plan_pattern(const PhaseRequest& request, const Hosts& hosts);
    [[nodiscard]] Result<Rates> plan_alike(const PhaseRequest& request, const Hosts& hosts);
    [[nodiscard]] Result<Rates> plan_with_root(PhaseRequest request, const Hosts& hosts);

    NodePlanner planner_;  ///< of any host
    std::map<std::size_t, NodePlanner> planners_;  ///< of hosts, by number
    /// By operation, ranks on a host and communicator.
    std::map<std::string, std::optional<std::uint64_t>> piece_frames_;
};

}  // namespace headway

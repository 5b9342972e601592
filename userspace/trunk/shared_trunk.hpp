// SPDX-License-Identifier: Apache-2.0
// The trunk that a node shares with the other hosts of its cluster: the one from
// the cluster's switch towards the centre, in that direction.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "kernel/traffic_control.hpp"
#include "network/topology.hpp"
#include "plan/planner.hpp"
#include "trunk/shares.hpp"

namespace headway {

struct CoordinationConfig;

struct NodeTrunk {
    SharedTrunk trunk;
    HostNumber host = 0;             ///< the node's
    std::vector<std::string> hosts;  ///< names by number: sorted
    std::uint64_t configuration = 0;  ///< configuration_digest()
    ClassLease guard;                ///< of the class above the cap

    friend bool operator==(const NodeTrunk& a, const NodeTrunk& b) {
        return a.configuration == b.configuration && a.host == b.host;
    }
};

/// A job that has something to do on this node.
struct JobHere {
    std::string name;          ///< of the batch system's allocation, if it is of one
    std::uint32_t weight = 1;
    bool is_granted = false;   ///< an administrator has started it: it may have a weight
    uid_t uid = 0;
    std::uint64_t start = 0;   ///< 0: none was told, or the allocation's number does

    friend bool operator==(const JobHere&, const JobHere&) = default;
};

[[nodiscard]] JobIdentity cluster_identity(const JobHere& job);

/// The rate that a node may use of its trunk now, and of that each of its jobs.
struct TrunkDivision {
    BytesPerSecond of_node;
    std::map<JobIdentity, BytesPerSecond> of_job;  ///< others: as the node

    friend bool operator==(const TrunkDivision&, const TrunkDivision&) = default;
};

/// `host` is the topology's number of the node.
[[nodiscard]] Result<NodeTrunk> node_trunk(const Topology& topology, std::size_t host,
                                           const PlanPolicy& policy,
                                           const CoordinationConfig& config);

}  // namespace headway

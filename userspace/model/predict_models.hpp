// SPDX-License-Identifier: Apache-2.0
// The time of a collective by every model that has something to say about it.
//
// What each model is given of a topology
//   bound      every link busy without a pause (Steffenel's Claim 3, links shared)
//   fluid      the planner's own, see fluid.hpp and planner.hpp
//   PlogP, PlogPT   two clusters of 2^k hosts each, all with the same edge: a tree
//              of height k + 1 with b(h) = 2^(h-1) edges inside a cluster and the
//              trunk at the top; g(m) = the message's wire bytes over an edge;
//              L = the trunk's delay; d(h) = the buffer in front of the link, as
//              time on it
// A model that does not fit the topology or the operation is left out; with it
// goes a sentence that says why.
//
// Units: bytes of payload between two ranks, seconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/planner.hpp"

namespace headway {

struct PredictRequest {
    Operation operation = Operation::alltoall;
    HostCounts hosts;
    std::size_t root_cluster = 0;  ///< of a rooted operation
    std::uint32_t ranks_per_host = 1;
};

struct ModelTime {
    std::string model;      ///< "fluid, paced", "PlogPT B"
    double low_s = 0;       ///< without time-outs
    double high_s = 0;      ///< with those that are possible
    std::string reason;
};

struct ModelTimes {
    std::vector<ModelTime> times;
    std::vector<std::string> left_out;  ///< "PlogPT: the clusters differ in size"
};

[[nodiscard]] Result<ModelTimes> predict_models(const Topology& topology, const PlanPolicy& policy,
                                                const PredictRequest& request,
                                                std::uint64_t message_bytes);

}  // namespace headway

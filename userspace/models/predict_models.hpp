// SPDX-License-Identifier: Apache-2.0
// The time of a collective by every model that has something to say about it.
//
// What each model is given of a topology
//   measured   what headway measure has seen of the same exchange, or what losses cost those in
//              which as much piled up (planner_measured.hpp): calls that wait for no time-out,
//              and the mean with those that do, as many as there may be
//   bound      every link busy without a pause (Steffenel's Claim 3, links shared)
//   fluid      the planner's own, see fluid.hpp and planner.hpp
//   PlogP, PlogPT   a binary tree (plogpt_of_topology.hpp), or the one that was fitted;
//              g(m) = the message's wire bytes over an edge.  PlogPT's closed forms are
//              for hosts that fill it; of others the all-to-alls are simulated
//   Zhu        racks around one switch with equal trunks: every message as a link
//              of congestion.hpp, all at once
// and, of parameters that were fitted,
//   Steffenel  the signature: (5) of contention.hpp, of all-to-alls
//   Lastovetsky   many to one: (4) to (7) of many_to_one.hpp, of gather and reduce
//              to one root; one to many: (2), of scatter and bcast, with S if that
//              was fitted; else from all receivers in parallel to one by one
// A model that does not fit the topology or the operation is left out; with it
// goes a sentence that says why.
//
// Units: bytes of payload between two ranks, seconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/exchange_operation.hpp"
#include "models/fitted_parameters.hpp"
#include "models/plogpt_program.hpp"
#include "plan/planner.hpp"

namespace headway {

struct PredictRequest {
    Operation operation = Operation::alltoall;
    HostCounts hosts;
    std::size_t root_cluster = 0;  ///< of a rooted operation
    std::uint32_t ranks_per_host = 1;
    FittedParameters fitted{};
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

/// Any exchange, such as a measured matrix.
[[nodiscard]] Result<ModelTimes> predict_exchange(const Topology& topology,
                                                  const PlanPolicy& policy,
                                                  const Exchange& exchange,
                                                  const ModelProgress& progress = {});

/// "; packets were lost, and up to 19 % of calls meet a time-out", or nothing.
[[nodiscard]] std::string losses_text(const Prediction::Measured& measured);

/// Seeds of the policy random that a program is simulated with.
inline constexpr unsigned program_seeds = 8;

/// A program by simulation, rank r on leaf r.  Fails where there is no tree for
/// it: nothing else predicts programs.
[[nodiscard]] Result<ModelTimes> predict_program(const Topology& topology, const HostCounts& hosts,
                                                 const FittedParameters& fitted,
                                                 const PlogptPrograms& program);

}  // namespace headway

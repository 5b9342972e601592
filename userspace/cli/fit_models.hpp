// SPDX-License-Identifier: Apache-2.0
// What `headway fit` does for each model: parameters and measurements as JSON
// in, what was found as JSON and sentences out.
//
//   contention  {"n", "alpha", "beta", "samples": [[m, T], ...], and as wanted "M",
//               "cov", "scaling": [[n, m, T], ...]}
//   manytoone   {"sources": [{"C", "t"}, ...], "rates": [...], "samples": [[M, T], ...],
//               and as wanted "idle": true}
//   plogpt      {"empty_gap_s", "round_trips": [[m, s], ...], "both_ways": true,
//               "heights": [{"pair_bandwidths_bytes_per_s": [...], "idle_latency_s",
//               "loaded_latency_s"}, ...]}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/model_progress.hpp"
#include "cli/svg_chart.hpp"
#include "models/eval_input.hpp"

namespace headway {

struct FitReport {
    EvalJson found;                    ///< parameters, with errors where known
    std::vector<std::string> remarks;  ///< what a user should know of it
    Chart chart;                       ///< measured and fitted
};

using FitResult = tl::expected<FitReport, std::string>;

[[nodiscard]] FitResult fit_contention_json(const EvalJson& input,
                                             const ModelProgress& progress = {});
[[nodiscard]] FitResult fit_many_to_one_json(const EvalJson& input,
                                              const ModelProgress& progress = {});
[[nodiscard]] FitResult fit_plogpt_json(const EvalJson& input,
                                         const ModelProgress& progress = {});

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// What `headway fit --json` writes, read back: one object, its "model" says
// which.  Members that only tell how well the fit is are not looked at.
//
//   {"model": "contention", "n": 24, "alpha": 6e-5, "beta": 8.4e-8,
//    "gamma": 1.02, "delta_s": 8.23e-3, "M_bytes": 2000}       M_bytes null: none
//   {"model": "manytoone", "sources": [{"C": .., "t": ..}, ..], "rates": [..],
//    "M1_bytes": .., "M2_bytes": .., "C_s": .., "delta1": .., "delta2": ..,
//    and, if measured, "S_bytes": ..}                       S_bytes null: all sizes
//   {"format": "headway-measure", "models": [such objects], ..}
//   {"model": "plogpt", "L": .., "gap": [[m, s], ..], "b": [..], "d": [..]}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/file_error.hpp"
#include "models/fitted_parameters.hpp"

namespace headway {

/// Adds to `parameters`, in place of what is known of the same model.
[[nodiscard]] FileResult<void> read_fitted(std::string_view text, std::string_view file,
                                           FittedParameters& parameters);

/// `known` with what the files have in place of it.
[[nodiscard]] FileResult<FittedParameters> load_fitted(const std::vector<std::string>& files,
                                                       FittedParameters known = {});

}  // namespace headway

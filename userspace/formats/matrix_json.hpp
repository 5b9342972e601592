// SPDX-License-Identifier: Apache-2.0
// Traffic matrices as JSON, dense or sparse:
//
//   {"bytes": [[0, 1000], [2000, 0]]}
//   {"ranks": 2, "flows": [{"source": 0, "destination": 1, "bytes": 1000, "messages": 2},
//                          {"source": 1, "destination": 0, "bytes": 2000}]}
//
// Unknown members are mistakes.
#pragma once

#include <string>
#include <string_view>

#include "base/file_error.hpp"
#include "formats/traffic_matrix.hpp"

namespace headway {

[[nodiscard]] FileResult<TrafficMatrix> read_matrix_json(std::string_view text,
                                                         std::string_view file);

}  // namespace headway

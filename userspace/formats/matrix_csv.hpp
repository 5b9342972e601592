// SPDX-License-Identifier: Apache-2.0
// Traffic matrices as comma-separated values: a line for each source, a column
// for each destination, bytes.  '#' starts a comment; empty lines are skipped.
//
//   # bytes from line to column
//   0,1000,1000
//   1000,0,1000
//   1000,1000,0
#pragma once

#include <string>
#include <string_view>

#include "base/file_error.hpp"
#include "formats/traffic_matrix.hpp"

namespace headway {

inline constexpr std::uint32_t dense_ranks_max = 4096;

[[nodiscard]] FileResult<TrafficMatrix> read_matrix_csv(std::string_view text,
                                                        std::string_view file);

}  // namespace headway

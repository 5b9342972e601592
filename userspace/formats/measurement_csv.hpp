// SPDX-License-Identifier: Apache-2.0
// Measurements as comma-separated values: a line with the columns' names, then
// numbers.  '#' starts a comment; empty lines are skipped.
//
//   bytes,seconds
//   1024,0.0031
//   65536,0.36
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace headway {

inline constexpr std::size_t measurements_max = 100'000;

struct Measurements {
    std::vector<std::string> columns;
    std::vector<std::vector<double>> rows;

    /// The number of the column; none: there is no such column.
    [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;
};

/// Every column must be one of `known`, and those of `required` must be there.
/// Errors name the file and the line.
[[nodiscard]] Result<Measurements> parse_measurements(std::string_view text, std::string_view file,
                                                      const std::vector<std::string>& required,
                                                      const std::vector<std::string>& known);

}  // namespace headway

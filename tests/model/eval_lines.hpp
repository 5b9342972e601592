// SPDX-License-Identifier: Apache-2.0
// headway-eval: the models as a filter.  One JSON object per line in, one per
// line out with the same id, in the same order:
//
//   {"id":"x","model":"plogpt","op":"alltoall","input":{...}}
//   {"id":"x","result":{...}}   or   {"id":"x","error":"..."}
//
// Every line is answered, an empty one too.  The id is any string, number,
// boolean or null.  Of a line that is no JSON it is found as far as the line
// can be read, and is null otherwise.  Numbers are written so that reading
// them gives the same double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace headway {

/// Longer lines are answered with an error, and skipped.
inline constexpr std::size_t eval_line_max_bytes = std::size_t{64} << 20;
/// Brackets within brackets.
inline constexpr std::size_t eval_nesting_max = 32;

struct EvalAnswer {
    std::string line;  ///< without the newline
    bool good = false;
};

[[nodiscard]] EvalAnswer eval_line(std::string_view line);

/// Answers every line; whether all answers were good.  `answered` hears of the
/// bytes of each line that is answered, may be empty.
[[nodiscard]] bool eval_stream(std::istream& in, std::ostream& out,
                               const std::function<void(std::uint64_t)>& answered = {});

}  // namespace headway

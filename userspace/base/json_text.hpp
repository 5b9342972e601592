// SPDX-License-Identifier: Apache-2.0
// JSON from text and to text, of nlohmann::json and nlohmann::ordered_json.
//
// The library's parser and serialiser are templates that take seconds to compile in
// every file that uses them.  Only json_text.cpp does, and of study/ what needs more of
// the parser: matrix_json.cpp and eval_lines.cpp.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace headway {

/// is_discarded() if the text is no JSON.
template <class Json>
[[nodiscard]] Json parse_json(std::string_view text);

/// Lines are indented by so many blanks; -1: it is all one line.  What came in as
/// broken UTF-8 leaves as replacement characters.
template <class Json>
[[nodiscard]] std::string json_text(const Json& json, int indent = -1);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// JSON from text and to text, of nlohmann::json and nlohmann::ordered_json.
//
// The library's parser and serialiser are templates that take seconds to compile in
// every file that uses them.  Only json_text.cpp does.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace headway {

/// is_discarded() if the text is no JSON.
template <class Json>
[[nodiscard]] Json parse_json(std::string_view text);

/// Throws what Json::parse() throws, which says where the mistake is.
template <class Json>
[[nodiscard]] Json parse_json_or_throw(std::string_view text);

/// Tells `events` of the text's parts; false if it has stopped at one of them.
[[nodiscard]] bool scan_json(std::string_view text, nlohmann::json_sax<nlohmann::json>& events);

/// Lines are indented by so many blanks; -1: it is all one line.  What came in as
/// broken UTF-8 leaves as replacement characters.
template <class Json>
[[nodiscard]] std::string json_text(const Json& json, int indent = -1);

}  // namespace headway

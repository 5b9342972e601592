// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.hpp"

namespace headway {

template <class Json>
Json parse_json(std::string_view text) {
    return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

template <class Json>
std::string json_text(const Json& json, int indent) {
    return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

template nlohmann::json parse_json(std::string_view);
template nlohmann::ordered_json parse_json(std::string_view);
template std::string json_text(const nlohmann::json&, int);
template std::string json_text(const nlohmann::ordered_json&, int);

}  // namespace headway

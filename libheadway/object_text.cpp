// SPDX-License-Identifier: MIT
#include "object_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

namespace headway::glue {
namespace {

bool is_plain(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

/// A single string of nlohmann's is destroyed without an allocation.
std::string quoted(const std::string& text) {
    if (is_plain(text)) return "\"" + text + "\"";
    using Json = nlohmann::json;
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string listed(const auto& values, const auto& json_of) {
    std::string list = "[";
    for (const auto& value : values) list += (list.size() > 1 ? "," : "") + json_of(value);
    return list + "]";
}

}  // namespace

ObjectText& ObjectText::text(std::string_view name, const std::string& value) { return json(name, quoted(value)); }

ObjectText& ObjectText::texts(std::string_view name, const std::vector<std::string>& values) {
    return json(name, listed(values, quoted));
}

ObjectText& ObjectText::number(std::string_view name, std::optional<double> value) {
    if (!value || !std::isfinite(*value)) return json(name, "null");
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *value).ptr;
    return json(name, std::string_view(digits.data(), end));
}

ObjectText& ObjectText::numbers(std::string_view name, const std::vector<std::array<std::uint64_t, 3>>& values) {
    const auto number = [](std::uint64_t value) { return std::to_string(value); };
    return json(name, listed(values, [&](const auto& three) { return listed(three, number); }));
}

ObjectText& ObjectText::json(std::string_view name, std::string_view value) {
    if (!members_.empty()) members_ += ',';
    members_.append("\"").append(name).append("\":").append(value);
    return *this;
}

}  // namespace headway::glue

// SPDX-License-Identifier: Apache-2.0
#include "base/json.hpp"

#include <algorithm>
#include <cmath>

namespace headway {
namespace {

/// By Sign.
constexpr std::array<std::string_view, 3> sign_texts{
    "a number", "a number that is not negative", "a positive number"};

/// Keys come from outside; a message stays readable whatever they are.
std::string shortened(std::string_view key) {
    constexpr std::size_t most = 40;
    return key.size() <= most ? std::string(key) : std::string(key.substr(0, most)) + "...";
}

}  // namespace

// ------------------------------------------------------------------------ text

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

// ---------------------------------------------------------------------- values

std::string JsonValue::place() const {
    std::string place(key_);
    for (std::size_t i = 0; i < depth_; ++i) place += fmt::format("[{}]", index_[i]);
    if (!member_.empty()) place += fmt::format(".{}", member_);
    return place;
}

double JsonValue::number(Sign sign) const {
    if (!is_there()) return 0;
    if (json_->is_number()) {
        const double value = json_->get<double>();
        const bool is_too_small = sign == Sign::positive ? value <= 0 : value < 0;
        if (std::isfinite(value) && (sign == Sign::any || !is_too_small)) return value;
    }
    fail("must be {}", sign_texts[static_cast<std::size_t>(sign)]);
    return 0;
}

std::uint64_t JsonValue::count(std::uint64_t least, std::uint64_t most) const {
    if (!is_there()) return least;
    if (json_->is_number_unsigned()) {
        const auto value = json_->get<std::uint64_t>();
        if (value >= least && value <= most) return value;
    }
    fail("must be a whole number from {} to {}", least, most);
    return least;
}

bool JsonValue::boolean() const {
    if (is_there() && !json_->is_boolean()) fail("must be true or false");
    return is_there() && json_->is_boolean() && json_->get<bool>();
}

std::string_view JsonValue::string(std::size_t most_bytes) const {
    if (!is_there()) return {};
    const auto* text = json_->get_ptr<const std::string*>();
    if (text != nullptr && text->size() <= most_bytes) return *text;
    fail("must be a string of at most {} bytes", most_bytes);
    return {};
}

std::size_t JsonValue::size(std::size_t least, std::size_t most) const {
    const std::size_t size = is_there() && json_->is_array() ? json_->size() : 0;
    const bool is_array = !is_there() || json_->is_array();
    if (is_array && size >= least && size <= most) return size;
    if (least == most) fail("must be an array of {}", least);
    else fail("must be an array of {} to {}", least, most);
    return 0;
}

JsonValue JsonValue::operator[](std::size_t index) const {
    JsonValue element = *this;
    const bool has_it = is_there() && json_->is_array() && index < json_->size();
    element.json_ = has_it ? &(*json_)[index] : nullptr;
    if (depth_ < depth_max) element.index_[element.depth_++] = index;
    return element;
}

std::vector<double> JsonValue::numbers(std::size_t least, std::size_t most, Sign sign) const {
    std::vector<double> list(size(least, most));
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = (*this)[i].number(sign);
    return list;
}

// ---------------------------------------------------------------------- reader

JsonReader::JsonReader(const nlohmann::json& input) : input_(input) {
    known_.reserve(16);  // most have no more members
    if (!input.is_object()) fail("input: must be an object");
}

JsonValue JsonReader::optional(std::string_view key) {
    known_.push_back(key);
    const auto found = input_.find(key);
    return {*this, found == input_.end() ? nullptr : &*found, key};
}

JsonValue JsonReader::operator[](std::string_view key) {
    const JsonValue value = optional(key);
    if (!value.is_there()) fail("{}: is missing", key);
    return value;
}

std::optional<std::string> JsonReader::finish() {
    if (error_) return error_;
    for (const auto& [key, value] : input_.items()) {
        if (std::ranges::find(known_, key) == known_.end()) {
            fail("{}: unknown key", shortened(key));
        }
    }
    return error_;
}

}  // namespace headway

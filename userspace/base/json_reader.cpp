// SPDX-License-Identifier: Apache-2.0
#include "base/json_reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/ranges.h>

#include "base/json_text.hpp"

namespace headway {
namespace {

/// Keys come from outside; a message stays readable whatever they are.
std::string shortened(std::string_view key) {
    constexpr std::size_t most = 40;
    return key.size() <= most ? std::string(key) : std::string(key.substr(0, most)) + "...";
}

std::string_view sign_text(Sign sign) {
    switch (sign) {
        case Sign::not_negative: return "a number that is not negative";
        case Sign::positive: return "a positive number";
        case Sign::any: break;
    }
    return "a number";
}

bool fits(double value, Sign sign) {
    switch (sign) {
        case Sign::not_negative: return value >= 0;
        case Sign::positive: return value > 0;
        case Sign::any: break;
    }
    return true;
}

/// JSON has one kind of number: 4.0 is as whole as 4.
std::optional<std::uint64_t> whole_number(const nlohmann::json& json) {
    constexpr double exact_max = 9007199254740992.0;  // 2^53
    if (json.is_number_unsigned()) return json.get<std::uint64_t>();
    if (!json.is_number_float()) return std::nullopt;
    const double value = json.get<double>();
    if (value < 0 || value > exact_max || value != std::floor(value)) return std::nullopt;
    return static_cast<std::uint64_t>(value);
}

}  // namespace

// ---------------------------------------------------------------------- values

std::string JsonValue::place() const {
    std::string place(key_);
    for (std::size_t i = 0; i < depth_; ++i) place += fmt::format("[{}]", index_[i]);
    if (!member_.empty()) place += fmt::format(".{}", member_);
    return place;
}

void JsonValue::fail(std::string_view message) const {
    if (!reader_->has_failed()) reader_->fail(fmt::format("{}: {}", place(), message));
}

double JsonValue::number(Sign sign) const {
    if (json_ == nullptr) return 0;
    if (json_->is_number()) {
        const double value = json_->get<double>();
        if (std::isfinite(value) && fits(value, sign)) return value;
    }
    fail(fmt::format("must be {}", sign_text(sign)));
    return 0;
}

double JsonValue::number_or_infinite(Sign sign) const {
    return is_null() ? std::numeric_limits<double>::infinity() : number(sign);
}

std::uint64_t JsonValue::count(std::uint64_t least, std::uint64_t most) const {
    if (json_ == nullptr) return least;
    const auto value = whole_number(*json_);
    if (value && *value >= least && *value <= most) return *value;
    fail(fmt::format("must be a whole number from {} to {}", least, most));
    return least;
}

bool JsonValue::boolean() const {
    if (json_ == nullptr) return false;
    if (json_->is_boolean()) return json_->get<bool>();
    fail("must be true or false");
    return false;
}

std::string JsonValue::text() const {
    if (json_ == nullptr) return {};
    if (json_->is_string()) return json_->get<std::string>();
    fail("must be a string");
    return {};
}

std::string JsonValue::name() const {
    if (json_ == nullptr) return {};
    if (json_->is_string()) return json_text(*json_);
    if (const auto number = whole_number(*json_)) return fmt::format("{}", *number);
    fail("must be a string or a whole number");
    return {};
}

std::size_t JsonValue::choice(std::initializer_list<std::string_view> choices) const {
    if (json_ == nullptr) return 0;
    if (json_->is_string()) {
        const auto* found =
            std::find(choices.begin(), choices.end(), json_->get_ref<const std::string&>());
        if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
    }
    fail(fmt::format("must be one of \"{}\"", fmt::join(choices, "\", \"")));
    return 0;
}

std::size_t JsonValue::size(std::size_t least, std::size_t most) const {
    if (json_ == nullptr) return 0;
    if (json_->is_array() && json_->size() >= least && json_->size() <= most) {
        return json_->size();
    }
    fail(least == most ? fmt::format("must be an array of {}", least)
                       : fmt::format("must be an array of {} to {}", least, most));
    return 0;
}

JsonValue JsonValue::operator[](std::size_t index) const {
    JsonValue element = *this;
    element.json_ = is_array() && index < json_->size() ? &(*json_)[index] : nullptr;
    if (depth_ < depth_max) element.index_[element.depth_++] = index;
    return element;
}

std::vector<double> JsonValue::numbers(std::size_t least, std::size_t most, Sign sign) const {
    std::vector<double> list(size(least, most));
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = (*this)[i].number(sign);
    return list;
}

std::vector<double> JsonValue::numbers_or_infinite(std::size_t least, std::size_t most,
                                                   Sign sign) const {
    std::vector<double> list(size(least, most));
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = (*this)[i].number_or_infinite(sign);
    return list;
}

bool JsonValue::is_object_of(std::initializer_list<std::string_view> keys) const {
    if (json_ == nullptr) return false;
    const bool all = json_->is_object() && json_->size() == keys.size() &&
                     std::all_of(keys.begin(), keys.end(),
                                 [&](std::string_view key) { return json_->contains(key); });
    if (!all) fail(fmt::format("must be an object of \"{}\"", fmt::join(keys, "\", \"")));
    return all;
}

JsonValue JsonValue::member(std::string_view key) const {
    JsonValue value = *this;
    value.json_ = nullptr;
    if (json_ != nullptr && json_->is_object()) {
        if (const auto found = json_->find(key); found != json_->end()) value.json_ = &*found;
    }
    value.member_ = key;
    return value;
}

// ---------------------------------------------------------------------- reader

JsonReader::JsonReader(const nlohmann::json& input) : input_(input) {
    if (!input.is_object()) fail("input: must be an object");
}

void JsonReader::fail(std::string message) {
    if (!error_) error_ = std::move(message);
}

JsonValue JsonReader::operator[](std::string_view key) {
    known_.push_back(key);
    if (input_.is_object()) {
        if (const auto found = input_.find(key); found != input_.end()) {
            return {*this, &*found, key};
        }
        fail(fmt::format("{}: is missing", key));
    }
    return {*this, nullptr, key};
}

std::optional<std::string> JsonReader::finish() {
    if (error_ || !input_.is_object()) return error_;
    for (const auto& [key, value] : input_.items()) {
        if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
            fail(fmt::format("{}: unknown key", shortened(key)));
        }
    }
    return error_;
}

}  // namespace headway

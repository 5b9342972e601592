// SPDX-License-Identifier: Apache-2.0
#include "base/json_reader.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

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
        const bool is_too_small = sign == Sign::positive ? value <= 0 : value < 0;
        if (std::isfinite(value) && (sign == Sign::any || !is_too_small)) return value;
    }
    fail(fmt::format("must be {}", sign_texts[static_cast<std::size_t>(sign)]));
    return 0;
}

std::optional<std::uint64_t> JsonValue::whole_number() const {
    constexpr double exact_max = 9007199254740992.0;  // 2^53
    if (json_->is_number_unsigned()) return json_->get<std::uint64_t>();
    if (!json_->is_number_float()) return std::nullopt;
    const double value = json_->get<double>();
    if (value < 0 || value > exact_max || value != std::floor(value)) return std::nullopt;
    return static_cast<std::uint64_t>(value);
}

std::uint64_t JsonValue::count(std::uint64_t least, std::uint64_t most) const {
    if (json_ == nullptr) return least;
    const auto value = whole_number();
    if (value && *value >= least && *value <= most) return *value;
    fail(fmt::format("must be a whole number from {} to {}", least, most));
    return least;
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
    const bool is_there = json_ != nullptr && json_->is_array() && index < json_->size();
    element.json_ = is_there ? &(*json_)[index] : nullptr;
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

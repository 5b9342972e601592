// SPDX-License-Identifier: Apache-2.0
#include "models/eval_input.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/ranges.h>

#include "base/json.hpp"

namespace headway {

double EvalValue::number_or_infinite(Sign sign) const {
    return is_null() ? std::numeric_limits<double>::infinity() : number(sign);
}

std::optional<std::uint64_t> EvalValue::whole_number() const {
    constexpr double exact_max = 9007199254740992.0;  // 2^53
    if (json_->is_number_unsigned()) return json_->get<std::uint64_t>();
    if (!json_->is_number_float()) return std::nullopt;
    const double value = json_->get<double>();
    if (value < 0 || value > exact_max || value != std::floor(value)) return std::nullopt;
    return static_cast<std::uint64_t>(value);
}

std::uint64_t EvalValue::count(std::uint64_t least, std::uint64_t most) const {
    if (json_ == nullptr) return least;
    const auto value = whole_number();
    if (value && *value >= least && *value <= most) return *value;
    fail("must be a whole number from {} to {}", least, most);
    return least;
}

std::string EvalValue::text() const {
    if (json_ == nullptr) return {};
    if (json_->is_string()) return json_->get<std::string>();
    fail("must be a string");
    return {};
}

std::string EvalValue::name() const {
    if (json_ == nullptr) return {};
    if (json_->is_string()) return json_text(*json_);
    if (const auto number = whole_number()) return fmt::format("{}", *number);
    fail("must be a string or a whole number");
    return {};
}

std::size_t EvalValue::choice(std::initializer_list<std::string_view> choices) const {
    if (json_ == nullptr) return 0;
    if (json_->is_string()) {
        const auto* found =
            std::find(choices.begin(), choices.end(), json_->get_ref<const std::string&>());
        if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
    }
    fail("must be one of \"{}\"", fmt::join(choices, "\", \""));
    return 0;
}

std::vector<double> EvalValue::numbers_or_infinite(std::size_t least, std::size_t most,
                                                   Sign sign) const {
    std::vector<double> list(size(least, most));
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = (*this)[i].number_or_infinite(sign);
    return list;
}

bool EvalValue::is_object_of(std::initializer_list<std::string_view> keys) const {
    if (json_ == nullptr) return false;
    const bool all = json_->is_object() && json_->size() == keys.size() &&
                     std::all_of(keys.begin(), keys.end(),
                                 [&](std::string_view key) { return json_->contains(key); });
    if (!all) fail("must be an object of \"{}\"", fmt::join(keys, "\", \""));
    return all;
}

EvalValue EvalValue::member(std::string_view key) const {
    EvalValue value = *this;
    value.json_ = nullptr;
    if (json_ != nullptr && json_->is_object()) {
        if (const auto found = json_->find(key); found != json_->end()) value.json_ = &*found;
    }
    value.member_ = key;
    return value;
}

}  // namespace headway

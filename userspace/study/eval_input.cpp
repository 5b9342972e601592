// SPDX-License-Identifier: Apache-2.0
#include "study/eval_input.hpp"

#include <algorithm>
#include <limits>

#include <fmt/ranges.h>

#include "base/json_text.hpp"

namespace headway {

double EvalValue::number_or_infinite(Sign sign) const {
    return is_null() ? std::numeric_limits<double>::infinity() : number(sign);
}

bool EvalValue::boolean() const {
    if (json_ == nullptr) return false;
    if (json_->is_boolean()) return json_->get<bool>();
    fail("must be true or false");
    return false;
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
    fail(fmt::format("must be one of \"{}\"", fmt::join(choices, "\", \"")));
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
    if (!all) fail(fmt::format("must be an object of \"{}\"", fmt::join(keys, "\", \"")));
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

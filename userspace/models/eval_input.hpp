// SPDX-License-Identifier: Apache-2.0
// The input of a model as JSON (of a fit, of fitted parameters, of an evaluation): base/json.hpp,
// and the forms of values that nothing else has.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "base/json.hpp"

namespace headway {

using EvalJson = nlohmann::json;
using EvalResult = tl::expected<EvalJson, std::string>;

template <class... Args>
[[nodiscard]] tl::unexpected<std::string> eval_failure(fmt::format_string<Args...> format,
                                                       Args&&... args) {
    return tl::unexpected(fmt::format(format, std::forward<Args>(args)...));
}

class EvalValue : public JsonValue {
public:
    explicit EvalValue(const JsonValue& value) : JsonValue(value) {}

    /// null stands for infinite.
    [[nodiscard]] double number_or_infinite(Sign sign = Sign::any) const;
    [[nodiscard]] std::vector<double> numbers_or_infinite(std::size_t least, std::size_t most,
                                                          Sign sign = Sign::any) const;
    /// JSON has one kind of number: 4.0 is as whole as 4.
    [[nodiscard]] std::uint64_t count(std::uint64_t least, std::uint64_t most) const;
    [[nodiscard]] std::string text() const;
    /// Reads the name of a node: a string or a whole number, as JSON (1 is not "1").
    [[nodiscard]] std::string name() const;
    /// The index of the choice; 0 after a mistake.
    [[nodiscard]] std::size_t choice(std::initializer_list<std::string_view> choices) const;

    /// An element of an array; size() has been asked.
    [[nodiscard]] EvalValue operator[](std::size_t index) const {
        return EvalValue(JsonValue::operator[](index));
    }
    /// Whether this is an object of exactly these members; an error if not.
    bool is_object_of(std::initializer_list<std::string_view> keys) const;
    /// A member of an object; is_object_of() has said yes.
    [[nodiscard]] EvalValue member(std::string_view key) const;

    /// Where a value may have several forms.
    [[nodiscard]] bool is_object() const { return json_ != nullptr && json_->is_object(); }
    [[nodiscard]] bool is_array() const { return json_ != nullptr && json_->is_array(); }
    [[nodiscard]] bool is_string() const { return json_ != nullptr && json_->is_string(); }

private:
    /// Reads a whole number that is there.
    [[nodiscard]] std::optional<std::uint64_t> whole_number() const;
};

class EvalInput : public JsonReader {
public:
    using JsonReader::JsonReader;

    /// A member that must be there.
    [[nodiscard]] EvalValue operator[](std::string_view key) {
        return EvalValue(JsonReader::operator[](key));
    }
};

}  // namespace headway

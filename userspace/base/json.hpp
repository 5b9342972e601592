// SPDX-License-Identifier: Apache-2.0
// JSON from text and to text, of nlohmann::json and nlohmann::ordered_json, and the reading of
// one object member by member, with the place of the first mistake.
//
// The library's parser and serialiser are templates that take seconds to compile in
// every file that uses them.  Only json.cpp does, and what needs more of the parser:
// formats/matrix_json.cpp and tests/model/eval_lines.cpp.
//
// The first mistake is kept; what is read after it is neutral (0, an empty list), so that
// a function reads everything, asks finish() once, and then computes:
//
//   JsonReader in(input);
//   const auto senders = in["n"].count(1, 1'000'000);
//   const double bandwidth = in["bandwidth"].number(Sign::positive);
//   if (auto error = in.finish()) return tl::unexpected(*error);
//
// Nothing but a first mistake is put into words: requests are read while their clients wait.
// What only the inputs of models have is in models/eval_input.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace headway {

/// is_discarded() if the text is no JSON.
template <class Json>
[[nodiscard]] Json parse_json(std::string_view text);

/// Lines are indented by so many blanks; -1: it is all one line.  What came in as
/// broken UTF-8 leaves as replacement characters.
template <class Json>
[[nodiscard]] std::string json_text(const Json& json, int indent = -1);

/// The sign that a number must have.
enum class Sign { any, not_negative, positive };

class JsonReader;

/// A value inside the input that knows its place ("pairs[3][0].C") and tells
/// its reader when it is not what it should be.
class JsonValue {
public:
    [[nodiscard]] bool is_there() const { return json_ != nullptr; }
    [[nodiscard]] bool is_null() const { return is_there() && json_->is_null(); }

    [[nodiscard]] double number(Sign sign = Sign::any) const;  ///< finite
    /// A whole number, without a fraction even of zero, from `least` to `most`; `least` after a
    /// mistake.
    [[nodiscard]] std::uint64_t count(std::uint64_t least, std::uint64_t most) const;
    [[nodiscard]] bool boolean() const;
    /// The result lives as long as the input.
    [[nodiscard]] std::string_view string(std::size_t most_bytes) const;
    /// The length of an array, which must be from `least` to `most`; 0 after a mistake.
    [[nodiscard]] std::size_t size(std::size_t least, std::size_t most) const;
    /// An element of an array; size() has been asked.
    [[nodiscard]] JsonValue operator[](std::size_t index) const;
    [[nodiscard]] std::vector<double> numbers(std::size_t least, std::size_t most,
                                              Sign sign = Sign::any) const;

    /// Says that this value is wrong: "<place>: <message>".
    template <class... Args>
    void fail(fmt::format_string<Args...> format, Args&&... args) const;

protected:
    const nlohmann::json* json_;  ///< null: it is not there
    std::string_view member_;     ///< of the object at the place

private:
    friend class JsonReader;
    static constexpr std::size_t depth_max = 4;

    JsonValue(JsonReader& reader, const nlohmann::json* json, std::string_view key)
        : json_(json), reader_(&reader), key_(key) {}
    [[nodiscard]] std::string place() const;

    JsonReader* reader_;
    // The place, as parts: a list of a million elements builds no strings.
    std::string_view key_;
    std::array<std::size_t, depth_max> index_{};
    std::size_t depth_ = 0;
};

/// The members of one input.  Keys are literals: they are kept by reference.
class JsonReader {
public:
    explicit JsonReader(const nlohmann::json& input);
    JsonReader(const JsonReader&) = delete;
    JsonReader& operator=(const JsonReader&) = delete;

    /// A member that must be there.
    [[nodiscard]] JsonValue operator[](std::string_view key);
    /// A member that may be left out: then it is read as 0, the least, false or empty.
    [[nodiscard]] JsonValue optional(std::string_view key);
    [[nodiscard]] bool has(std::string_view key) const { return input_.contains(key); }

    template <class... Args>
    void fail(fmt::format_string<Args...> format, Args&&... args) {
        if (!error_) error_ = fmt::format(format, std::forward<Args>(args)...);
    }
    [[nodiscard]] bool has_failed() const { return error_.has_value(); }
    /// The first mistake so far.
    [[nodiscard]] const std::optional<std::string>& mistake() const { return error_; }
    /// The first mistake; else a member that nobody has asked for.
    [[nodiscard]] std::optional<std::string> finish();

private:
    const nlohmann::json& input_;
    std::vector<std::string_view> known_;
    std::optional<std::string> error_;
};

template <class... Args>
void JsonValue::fail(fmt::format_string<Args...> format, Args&&... args) const {
    if (reader_->has_failed()) return;
    reader_->fail("{}: {}", place(), fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace headway

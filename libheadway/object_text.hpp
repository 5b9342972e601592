// SPDX-License-Identifier: MIT
// A JSON object as text, as a request to headwayd is (Documentation/control-protocol.rst).
// It is no tree of nlohmann::json, whose destructor allocates memory and ends the process
// where there is none; the library is in processes that have to survive that.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headway::glue {

/// Each member is to be added once.
class ObjectText {
public:
    ObjectText() = default;
    /// A request.
    explicit ObjectText(const std::string& op) : op_(op) { text("op", op); }

    /// Bytes that are no UTF-8 become U+FFFD.
    ObjectText& text(std::string_view name, const std::string& value);
    ObjectText& texts(std::string_view name, const std::vector<std::string>& values);
    ObjectText& number(std::string_view name, std::integral auto value) {
        return json(name, std::to_string(value));
    }
    /// None, or not a finite one: null.
    ObjectText& number(std::string_view name, std::optional<double> value);
    ObjectText& number(std::string_view name, std::optional<std::uint64_t> value) {
        return value ? number(name, *value) : json(name, "null");
    }
    ObjectText& numbers(std::string_view name, const std::vector<std::array<std::uint64_t, 3>>& values);
    ObjectText& flag(std::string_view name, bool value) { return json(name, value ? "true" : "false"); }
    /// `name` needs no escaping, and `value` is JSON.
    ObjectText& json(std::string_view name, std::string_view value);

    [[nodiscard]] const std::string& op() const { return op_; }
    [[nodiscard]] std::string object() const { return "{" + members_ + "}"; }

private:
    std::string op_;
    std::string members_;
};

}  // namespace headway::glue

// SPDX-License-Identifier: MIT
// What headwayd answered (Documentation/control-protocol.rst), read without a tree of
// nlohmann::json (object_text.hpp says why).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headway::glue {

/// The members of one JSON object, and of the objects in it, by their path: "predicted.low_s".
/// Of several members of one name the last one counts.
class Answer {
public:
    /// None: it is no JSON object, or one with such long names as the protocol has none.
    [[nodiscard]] static std::optional<Answer> read(std::string text);

    /// A member that is there, and not null.
    [[nodiscard]] bool has(std::string_view path) const;
    [[nodiscard]] bool is_null(std::string_view path) const;
    /// None: there is no such member, or it is of another type.
    [[nodiscard]] std::optional<bool> flag(std::string_view path) const;
    [[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view path) const;
    [[nodiscard]] std::optional<double> number(std::string_view path) const;
    [[nodiscard]] std::optional<std::string> text(std::string_view path) const;
    /// Those in a list, whatever else it has; empty: it is none.
    [[nodiscard]] std::vector<std::string> texts(std::string_view path) const;

    /// As it came, which is UTF-8.
    [[nodiscard]] const std::string& received() const { return received_; }

private:
    struct Null {};
    struct Object {};
    using Texts = std::vector<std::string>;
    using Value = std::variant<Null, Object, bool, std::uint64_t, double, std::string, Texts>;
    class Reader;

    template <class Type>
    [[nodiscard]] std::optional<Type> find(std::string_view path) const;

    std::string received_;
    std::map<std::string, Value, std::less<>> members_;
};

}  // namespace headway::glue

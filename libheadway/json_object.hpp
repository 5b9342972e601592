// SPDX-License-Identifier: MIT
// A JSON object, as headwayd's answers, reports and recordings are, read without a tree of
// nlohmann::json (object_text.hpp says why).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headway::glue {

/// Its members, and those of the objects in it, by their path: "predicted.low_s".
/// Of several members of one name the last one counts.
class JsonObject {
public:
    /// Gets an object that is in a list, after those that are in lists of its own, and the path of the list.
    using Take = std::function<void(std::string_view path, const JsonObject&)>;

    /// None: it is no JSON object, or one with longer names than any of ours.
    [[nodiscard]] static std::optional<JsonObject> read(std::string text, const Take& take = {});

    /// A member that is there, and not null.
    [[nodiscard]] bool has(std::string_view path) const;
    [[nodiscard]] bool is_null(std::string_view path) const;
    /// None: there is no such member, or it is of another type.
    [[nodiscard]] std::optional<bool> flag(std::string_view path) const;
    [[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view path) const;
    [[nodiscard]] std::optional<double> number(std::string_view path) const;
    [[nodiscard]] std::optional<std::string> text(std::string_view path) const;
    /// How much is in a list, and in lists in it; none: it is none.
    [[nodiscard]] std::optional<std::size_t> list_size(std::string_view path) const;
    /// Returns the strings in a list, and in lists in it, and ignores all else; empty: it is no
    /// list.
    [[nodiscard]] std::vector<std::string> texts(std::string_view path) const;
    [[nodiscard]] std::vector<std::uint64_t> whole_numbers(std::string_view path) const;

    /// As it came, which is UTF-8; of an object in a list nothing.
    [[nodiscard]] const std::string& received() const { return received_; }

private:
    struct Null {};
    struct Object {};
    struct List {
        std::vector<std::string> texts;
        std::vector<std::uint64_t> numbers;
        std::size_t size = 0;
    };
    using Value = std::variant<Null, Object, bool, std::uint64_t, double, std::string, List>;
    class Reader;

    template <class Type>
    [[nodiscard]] const Type* find(std::string_view path) const;

    std::string received_;
    std::map<std::string, Value, std::less<>> members_;
};

}  // namespace headway::glue

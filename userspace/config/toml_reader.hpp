// SPDX-License-Identifier: Apache-2.0
// Reading one TOML table key by key, collecting everything that is wrong with
// it instead of stopping at the first mistake.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Values, not exceptions; header-only because the packaged library throws.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
// Some of the library's assertions are about the file ("[[[" fails one) and would
// abort the program, while the code behind them tells the mistake.
#define TOML_ASSERT(expression) static_assert(true)

// Some of its tables of characters end in "unreachable" for letters such as
// U+0261, which a file may hold anywhere.  They are no blanks: say so instead.
#if __has_include(<toml++/impl/unicode.hpp>)  // from toml++ 3.4 on
#include <toml++/impl/forward_declarations.hpp>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#include <toml++/impl/unicode.hpp>
#else
#include <toml++/impl/forward_declarations.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#include <toml++/impl/unicode.h>
#endif
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE __builtin_unreachable()

#include <toml++/toml.h>

#include "base/error.hpp"
#include "base/file_error.hpp"

namespace headway {

/// A value together with the line it stands on.
template <class Value>
struct Located {
    Value value;
    std::uint32_t line;
};

/// Returns nothing, and adds a mistake, if the text is not TOML.
[[nodiscard]] std::optional<toml::table> parse_toml(std::string_view text, std::string_view file,
                                                    std::vector<FileError>& errors);

class TomlReader {
public:
    /// `path` is how error messages call the table ("policy"; "" at the top).
    TomlReader(const toml::table& table, std::string path, std::string file,
               std::vector<FileError>& errors)
        : table_(table), path_(std::move(path)), file_(std::move(file)), errors_(errors) {}

    // Every getter makes the key a known one.  An absent key is no error; a
    // value of another type is one, and is then treated as absent.
    const toml::node* find(std::string_view key);
    std::optional<Located<std::string>> string(std::string_view key);
    std::vector<Located<std::string>> strings(std::string_view key);

    /// A condition that a value must meet.  If it does not, the error says so by `reason`, in which
    /// "{}" stands for the value, and by `advice`.
    template <class Condition>
    struct Wanted {
        Condition condition;
        std::string_view reason;
        std::string advice;
    };
    template <class Number>
    struct Range {
        Number least;
        Number most;
    };
    using WantedText = Wanted<bool (*)(std::string_view)>;
    /// A string that is not what is wanted is given all the same.
    std::optional<std::string> text(std::string_view key, const WantedText& wanted);
    std::optional<std::int64_t> integer(std::string_view key,
                                        const Wanted<Range<std::int64_t>>& wanted);
    /// Whole or with a fraction.  What is no number at all has the same error.
    std::optional<double> number(std::string_view key, const Wanted<Range<double>>& wanted);
    /// Reads a number as a whole number of parts, of which `one` make 1, rounded.
    std::optional<std::uint32_t> parts(std::string_view key, std::uint32_t one,
                                       const Wanted<Range<double>>& wanted);
    /// Returns the number of the known word; the first is the default.
    std::size_t choice(std::string_view key, std::initializer_list<std::string_view> known);
    /// A string of which `parse` makes a value, or tells what is wrong with it.
    template <class Value>
    std::optional<Value> parsed(std::string_view key, Result<Value> (*parse)(std::string_view),
                                std::string_view advice) {
        const auto text = string(key);
        if (!text) return std::nullopt;
        auto value = parse(text->value);
        if (value) return std::move(*value);
        error(text->line, key, value.error().message, std::string(advice));
        return std::nullopt;
    }

    std::optional<TomlReader> table(std::string_view key);
    std::vector<TomlReader> tables(std::string_view key);

    void error(std::uint32_t line, std::string_view key, std::string reason, std::string advice);

    /// Complains about the keys that nobody asked for.  Call it last.
    void finish();

    [[nodiscard]] std::size_t error_count() const { return errors_.size(); }
    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] std::uint32_t line() const { return table_.source().begin.line; }

private:
    template <class Value>
    std::optional<Located<Value>> typed(std::string_view key, std::string_view wanted);
    [[nodiscard]] std::string full_key(std::string_view key) const;
    void type_error(const toml::node& node, std::string_view key, std::string_view wanted);

    const toml::table& table_;
    std::string path_;
    std::string file_;
    std::vector<FileError>& errors_;
    std::vector<std::string> known_;
};

}  // namespace headway

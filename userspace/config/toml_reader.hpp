// SPDX-License-Identifier: Apache-2.0
// Reading one TOML table key by key, collecting everything that is wrong with
// it instead of stopping at the first mistake.
#pragma once

#include <cstdint>
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
#include <toml++/impl/forward_declarations.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#include <toml++/impl/unicode.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE __builtin_unreachable()

#include <toml++/toml.h>

#include "base/file_error.hpp"

namespace headway {

/// A value together with the line it stands on.
template <class Value>
struct Located {
    Value value;
    std::uint32_t line;
};

/// Nothing, and a mistake more, if the text is not TOML.
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
    std::optional<Located<std::int64_t>> integer(std::string_view key);
    /// Whole or with a fraction, `least` .. `most`.  Of anything else the error says
    /// what it `is_about`, and `advice`.
    struct NumberWanted {
        double least;
        double most;
        std::string is_about;
        std::string advice;
    };
    std::optional<double> number(std::string_view key, const NumberWanted& wanted);
    std::vector<Located<std::string>> strings(std::string_view key);
    std::optional<TomlReader> table(std::string_view key);
    std::vector<TomlReader> tables(std::string_view key);

    void error(std::uint32_t line, std::string_view key, std::string reason, std::string advice);

    /// Complains about the keys that nobody asked for.  Call it last.
    void finish();

    [[nodiscard]] std::size_t error_count() const { return errors_.size(); }
    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] std::uint32_t line() const { return table_.source().begin.line; }

private:
    [[nodiscard]] std::string full_key(std::string_view key) const;
    void type_error(const toml::node& node, std::string_view key, std::string_view wanted);

    const toml::table& table_;
    std::string path_;
    std::string file_;
    std::vector<FileError>& errors_;
    std::vector<std::string> known_;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "config/toml_reader.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

namespace headway {
namespace {

std::uint32_t line_of(const toml::node& node) { return node.source().begin.line; }

constexpr int key_parts_max = 64;

/// Skips a string that begins at `i`; returns where it ends.
std::size_t string_end(std::string_view text, std::size_t i) {
    const char quote = text[i];
    const std::string three(3, quote);
    const bool is_long = text.substr(i, 3) == three;
    const std::string_view end = is_long ? std::string_view(three) : text.substr(i, 1);
    for (i += end.size(); i < text.size() && text.substr(i, end.size()) != end; ++i) {
        if (text[i] == '\n' && !is_long) return i;  // unclosed
        if (text[i] == '\\' && quote == '"') ++i;
    }
    return std::min(i + end.size(), text.size());
}

/// The line of a dotted key with more parts than that; 0: none.  Each part is a
/// table in the one before, and the library goes through them by recursion.
std::uint32_t find_deep_key(std::string_view text) {
    int dots = 0;
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (c == '"' || c == '\'') {
            i = string_end(text, i);
            continue;
        }
        if (c == '#') {
            i = std::min(text.find('\n', i), text.size());
            continue;
        }
        if (c == '.' && ++dots >= key_parts_max) {
            const auto lines = std::count(text.begin(), text.begin() + static_cast<long>(i), '\n');
            return static_cast<std::uint32_t>(lines) + 1;
        }
        if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') dots = 0;
        ++i;
    }
    return 0;
}

std::string_view type_name(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::table: return "a table";
        case toml::node_type::array: return "an array";
        case toml::node_type::string: return "a string";
        case toml::node_type::integer: return "an integer";
        case toml::node_type::floating_point: return "a number with a fraction";
        case toml::node_type::boolean: return "a boolean";
        default: return "a date or a time";
    }
}

/// Number of letters to insert, delete or replace to get from `a` to `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

std::optional<std::string> nearest(std::string_view key, const std::vector<std::string>& known) {
    constexpr std::size_t told_up_to = 3;  // letters; beyond, a hint would puzzle
    const auto best = std::min_element(known.begin(), known.end(), [&](auto& a, auto& b) {
        return edit_distance(key, a) < edit_distance(key, b);
    });
    if (best == known.end()) return std::nullopt;
    const std::size_t distance = edit_distance(key, *best);
    if (distance > told_up_to || distance >= key.size()) return std::nullopt;
    return *best;
}

std::string list_of(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return list;
}

}  // namespace

std::optional<toml::table> parse_toml(std::string_view text, std::string_view file,
                                      std::vector<FileError>& errors) {
    if (const std::uint32_t line = find_deep_key(text); line != 0) {
        errors.push_back({std::string(file), line, "syntax",
                          fmt::format("a key has more than {} parts", key_parts_max),
                          "see headway.toml(5) for an example"});
        return std::nullopt;
    }
    toml::parse_result parsed = toml::parse(text, file);
    if (parsed) return std::move(parsed).table();
    const toml::parse_error& error = parsed.error();
    errors.push_back({std::string(file), error.source().begin.line, "syntax",
                      std::string(error.description()), "see headway.toml(5) for an example"});
    return std::nullopt;
}

const toml::node* TomlReader::find(std::string_view key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
    return table_.get(key);
}

std::optional<Located<std::string>> TomlReader::string(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    if (const auto* text = node->as_string()) return Located<std::string>{**text, line_of(*node)};
    type_error(*node, key, "a string in double quotes");
    return std::nullopt;
}

std::optional<Located<std::int64_t>> TomlReader::integer(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    if (const auto* number = node->as_integer()) {
        return Located<std::int64_t>{**number, line_of(*node)};
    }
    type_error(*node, key, "a whole number without quotes");
    return std::nullopt;
}

std::optional<double> TomlReader::number(std::string_view key, const NumberWanted& wanted) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    const auto found = node->is_number() ? node->value<double>() : std::nullopt;
    // not a number compares false
    if (found && *found >= wanted.least && *found <= wanted.most) return found;
    error(line_of(*node), key, "it is " + wanted.is_about, wanted.advice);
    return std::nullopt;
}

std::vector<Located<std::string>> TomlReader::strings(std::string_view key) {
    std::vector<Located<std::string>> list;
    const toml::node* node = find(key);
    if (node == nullptr) return list;
    const toml::array* array = node->as_array();
    if (array == nullptr) {
        type_error(*node, key, "an array of strings, [\"...\"]");
        return list;
    }
    for (const toml::node& element : *array) {
        if (const auto* text = element.as_string()) {
            list.push_back({**text, line_of(element)});
        } else {
            type_error(element, key, "strings in double quotes");
        }
    }
    return list;
}

std::optional<TomlReader> TomlReader::table(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    if (const auto* table = node->as_table()) {
        return TomlReader(*table, full_key(key), file_, errors_);
    }
    type_error(*node, key, fmt::format("a table, [{}]", full_key(key)));
    return std::nullopt;
}

std::vector<TomlReader> TomlReader::tables(std::string_view key) {
    std::vector<TomlReader> list;
    const toml::node* node = find(key);
    if (node == nullptr) return list;
    const toml::array* array = node->as_array();
    if (array == nullptr || array->empty() || !array->is_homogeneous<toml::table>()) {
        type_error(*node, key, fmt::format("one or more tables [[{}]]", full_key(key)));
        return list;
    }
    for (const toml::node& element : *array) {
        list.emplace_back(*element.as_table(), full_key(key), file_, errors_);
    }
    return list;
}

void TomlReader::error(std::uint32_t line, std::string_view key, std::string reason,
                       std::string advice) {
    errors_.push_back({file_, line, full_key(key), std::move(reason), std::move(advice)});
}

void TomlReader::finish() {
    for (const auto& [key, node] : table_) {
        const std::string name(key.str());
        if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
        const auto meant = nearest(name, known_);
        error(key.source().begin.line, name, "unknown key",
              meant ? fmt::format("did you mean {}?", *meant)
                    : fmt::format("known here: {}", list_of(known_)));
    }
}

std::string TomlReader::full_key(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void TomlReader::type_error(const toml::node& node, std::string_view key,
                            std::string_view wanted) {
    error(line_of(node), key, fmt::format("{} cannot stand here", type_name(node)),
          fmt::format("write {}", wanted));
}

}  // namespace headway

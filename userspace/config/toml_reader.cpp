// SPDX-License-Identifier: Apache-2.0
#include "config/toml_reader.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "base/nearest.hpp"

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

}  // namespace

std::optional<toml::table> parse_toml(std::string_view text, std::string_view file,
                                      std::vector<FileError>& errors) {
    const auto refuse = [&](std::uint32_t line, std::string reason) {
        errors.push_back({std::string(file), line, "syntax", std::move(reason),
                          "see headway.toml(5) for an example"});
        return std::nullopt;
    };
    if (const std::uint32_t line = find_deep_key(text); line != 0) {
        return refuse(line, fmt::format("a key has more than {} parts", key_parts_max));
    }
    toml::parse_result parsed = toml::parse(text, file);
    if (parsed) return std::move(parsed).table();
    return refuse(parsed.error().source().begin.line, std::string(parsed.error().description()));
}

const toml::node* TomlReader::find(std::string_view key) {
    if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
    return table_.get(key);
}

/// `wanted` says of which type it has to be.
template <class Value>
std::optional<Located<Value>> TomlReader::typed(std::string_view key, std::string_view wanted) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    if (const auto* value = node->as<Value>()) return Located<Value>{**value, line_of(*node)};
    type_error(*node, key, wanted);
    return std::nullopt;
}

std::optional<Located<std::string>> TomlReader::string(std::string_view key) {
    return typed<std::string>(key, "a string in double quotes");
}

std::optional<std::string> TomlReader::text(std::string_view key, const WantedText& wanted) {
    auto found = string(key);
    if (!found) return std::nullopt;
    if (!wanted.condition(found->value)) {
        error(found->line, key, fmt::format(fmt::runtime(wanted.reason), found->value),
              wanted.advice);
    }
    return std::move(found->value);
}

std::optional<std::int64_t> TomlReader::integer(std::string_view key,
                                                const Wanted<Range<std::int64_t>>& wanted) {
    const auto found = typed<std::int64_t>(key, "a whole number without quotes");
    if (!found) return std::nullopt;
    const auto [least, most] = wanted.condition;
    if (found->value >= least && found->value <= most) return found->value;
    error(found->line, key, fmt::format(fmt::runtime(wanted.reason), found->value), wanted.advice);
    return std::nullopt;
}

std::optional<double> TomlReader::number(std::string_view key,
                                         const Wanted<Range<double>>& wanted) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    const auto found = node->is_number() ? node->value<double>() : std::nullopt;
    const auto [least, most] = wanted.condition;
    if (found && *found >= least && *found <= most) return found;  // not a number compares false
    error(line_of(*node), key, std::string(wanted.reason), wanted.advice);
    return std::nullopt;
}

std::optional<std::uint32_t> TomlReader::parts(std::string_view key, std::uint32_t one,
                                               const Wanted<Range<double>>& wanted) {
    const auto found = number(key, wanted);
    if (!found) return std::nullopt;
    return static_cast<std::uint32_t>(std::lround(*found * one));
}

std::size_t TomlReader::choice(std::string_view key,
                               std::initializer_list<std::string_view> known) {
    const auto found = string(key);
    if (!found) return 0;
    const auto* const place = std::ranges::find(known, found->value);
    if (place != known.end()) return static_cast<std::size_t>(place - known.begin());
    std::string advice = fmt::format("write \"{}\" (default)", *known.begin());
    for (const auto* word = known.begin() + 1; word != known.end(); ++word) {
        advice += fmt::format("{}\"{}\"", word + 1 == known.end() ? " or " : ", ", *word);
    }
    error(found->line, key, fmt::format("\"{}\" is unknown", found->value), std::move(advice));
    return 0;
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
        const std::string_view name = key.str();
        if (std::ranges::find(known_, name) != known_.end()) continue;
        error(key.source().begin.line, name, "unknown key", did_you_mean(name, known_));
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

// SPDX-License-Identifier: Apache-2.0
// Cutting texts into lines and words, and words into numbers, for the formats that are lists of
// lines; and counting in words.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headway {

/// Goes through the lines of a text, without their ends ("\n" or "\r\n").
class TextLines {
public:
    explicit TextLines(std::string_view text) : rest_(text) {}

    /// False at the end of the text.
    bool next() {
        if (rest_.empty()) return false;
        const auto end = rest_.find('\n');
        line_ = rest_.substr(0, end);
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
        if (line_.ends_with('\r')) line_.remove_suffix(1);
        ++number_;
        return true;
    }
    [[nodiscard]] std::string_view line() const { return line_; }
    [[nodiscard]] std::uint32_t number() const { return number_; }

private:
    std::string_view rest_;
    std::string_view line_;
    std::uint32_t number_ = 0;
};

/// Returns the text without the blanks at both ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const auto begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// Splits the text at any of `separators` into its words, none of which is empty.
[[nodiscard]] inline std::vector<std::string_view> split_words(
    std::string_view text, std::string_view separators = " \t") {
    std::vector<std::string_view> words;
    while (true) {
        const auto begin = text.find_first_not_of(separators);
        if (begin == std::string_view::npos) return words;
        text.remove_prefix(begin);
        const auto end = std::min(text.find_first_of(separators), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

/// The whole word as a number: std::uint64_t, double, ...; nothing otherwise.
template <class Number>
[[nodiscard]] std::optional<Number> to_number(std::string_view word) {
    Number number{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    return number;
}

/// "1 host", "2 hosts", "2 switches", "2 processes".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view thing);

/// Returns the beginning of the text for a message, without control characters.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace headway

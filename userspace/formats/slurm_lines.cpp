// SPDX-License-Identifier: Apache-2.0
#include "formats/slurm_lines.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include <fmt/core.h>

#include "base/text_lines.hpp"

namespace headway {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";
constexpr std::size_t includes_max = 1000;
constexpr std::size_t include_depth_max = 10;

/// How many backslashes stand in front of `end`.
std::size_t backslashes_before(std::string_view text, std::size_t end) {
    std::size_t count = 0;
    while (count < end && text[end - 1 - count] == '\\') ++count;
    return count;
}

std::string_view without_comment(std::string_view line) {
    for (std::size_t at = line.find('#'); at != std::string_view::npos;
         at = line.find('#', at + 1)) {
        if (backslashes_before(line, at) % 2 == 0) return line.substr(0, at);
    }
    return line;
}

/// Cuts off the backslash at the end of a line that the next one continues.
bool take_continuation(std::string_view& line) {
    const auto end = line.find_last_not_of(blanks);
    if (end == std::string_view::npos || backslashes_before(line, end + 1) % 2 == 0) return false;
    line = line.substr(0, end);
    return true;
}

std::string without_escapes(std::string_view line) {
    std::string plain;
    for (std::size_t at = 0; at < line.size(); ++at) {
        if (line[at] == '\\' && ++at == line.size()) break;
        plain += line[at];
    }
    return plain;
}

std::string_view after_blanks(std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

/// Cuts the next KEY=VALUE off the text; nothing: it begins with none.
std::optional<std::pair<std::string, std::string>> take_pair(std::string_view& text) {
    const auto is_of_a_key = [](unsigned char c) {
        return std::isalnum(c) || c == '_' || c == '.';
    };
    const auto* const key_end = std::find_if_not(text.begin(), text.end(), is_of_a_key);
    const std::string_view key = text.substr(0, static_cast<std::size_t>(key_end - text.begin()));
    std::string_view rest = after_blanks(text.substr(key.size()));
    if (key.empty() || !rest.starts_with('=')) return std::nullopt;
    rest = after_blanks(rest.substr(1));
    std::size_t begin = 0, end = rest.find_first_of(blanks), next = end;
    if (rest.starts_with('"') && rest.find('"', 1) != std::string_view::npos) {
        begin = 1;
        end = rest.find('"', 1);
        next = end + 1;
    }
    end = std::min(end, rest.size());
    next = std::min(next, rest.size());
    if (next == 0 || (next < rest.size() && blanks.find(rest[next]) == std::string_view::npos))
        return std::nullopt;
    text = rest.substr(next);
    return std::pair(std::string(key), std::string(rest.substr(begin, end - begin)));
}

class LinesReader {
public:
    LinesReader(const ReadFile& read_file, std::string_view advice, FileMistakes& mistakes)
        : read_file_(read_file),
          advice_(advice),
          mistakes_(mistakes) {}

    void read(std::string_view text, const std::string& file) {
        open_.push_back(file);
        TextLines lines(text);
        while (lines.next() && !mistakes_.full()) {
            mistakes_.set_file(file);
            const std::uint32_t first = lines.number();
            std::string_view part = without_comment(lines.line());
            std::string whole;
            while (take_continuation(part)) {
                whole += part;
                part = lines.next() ? without_comment(lines.line()) : std::string_view();
            }
            whole += part;
            read_line(first, without_escapes(whole));
        }
        open_.pop_back();
    }

    std::vector<SlurmLine> take() { return std::move(found_); }

private:
    void read_line(std::uint32_t number, std::string_view text) {
        text = trimmed(text);
        if (text.empty()) return;
        const auto words = split_words(text, blanks);
        if (is_same_word(words.front(), "include")) {
            if (words.size() == 2) include(number, std::string(words.back()));
            else mistakes_.add(number, "Include", "it names no file", "write Include FILE");
            return;
        }
        SlurmLine line{open_.back(), number, {}};
        while (!(text = after_blanks(text)).empty()) {
            auto pair = take_pair(text);
            if (!pair) {
                const auto word = split_words(text, blanks).front();
                mistakes_.add(number, "", in_quotes(word) + " is no KEY=VALUE",
                              std::string(advice_));
                return;
            }
            line.pairs.push_back(std::move(*pair));
        }
        found_.push_back(std::move(line));
    }

    void include(std::uint32_t number, const std::string& name) {
        const std::string path =
            (std::filesystem::path(open_.back()).parent_path() / name).string();
        if (name.find('%') != std::string::npos) {
            mistakes_.add(number, "Include", in_quotes(name) + " depends on who reads it",
                          "write the file's own name");
        } else if (!read_file_) {
            mistakes_.add(number, "Include", "no other file is read here", "put its lines here");
        } else if (std::ranges::find(open_, path) != open_.end() ||
                   open_.size() == include_depth_max || ++includes_ > includes_max) {
            mistakes_.add(number, "Include",
                          in_quotes(name) + " includes itself, or too many files are included",
                          "include each file once");
        } else if (const auto text = read_file_(path)) {
            read(*text, path);
        } else {
            for (const FileError& error : text.error()) {
                mistakes_.add(number, "Include", error.file + ": " + error.reason, error.advice);
            }
        }
    }

    const ReadFile& read_file_;
    std::string_view advice_;
    FileMistakes& mistakes_;
    std::vector<std::string> open_;
    std::size_t includes_ = 0;
    std::vector<SlurmLine> found_;
};

}  // namespace

std::vector<SlurmLine> read_slurm_lines(std::string_view text, std::string_view file,
                                        const ReadFile& read_file, std::string_view advice,
                                        FileMistakes& mistakes) {
    LinesReader reader(read_file, advice, mistakes);
    reader.read(text, std::string(file));
    return reader.take();
}

bool is_same_word(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
        return std::tolower(x) == std::tolower(y);
    });
}

}  // namespace headway

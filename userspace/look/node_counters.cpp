// SPDX-License-Identifier: Apache-2.0
#include "look/node_counters.hpp"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <vector>

namespace headway {
namespace {

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
}

std::uint64_t number_of(std::string_view word, int base) {
    std::uint64_t number = 0;
    std::from_chars(word.data(), word.data() + word.size(), number, base);
    return number;
}

/// The sum of a column of hexadecimal numbers.
std::uint64_t sum_of_column(std::istream& lines, std::size_t column) {
    std::uint64_t sum = 0;
    for (std::string line; std::getline(lines, line);) {
        const auto words = words_of(line);
        if (column < words.size()) sum += number_of(words[column], 16);
    }
    return sum;
}

/// "": there is no such file.
std::string text_in(const char* path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

}  // namespace

std::uint64_t softnet_column(const std::string& text, std::size_t column) {
    std::istringstream lines(text);
    return sum_of_column(lines, column);
}

std::uint64_t conntrack_column(const std::string& text, const std::string& name) {
    std::istringstream lines(text);
    std::string head;
    std::getline(lines, head);
    const auto names = words_of(head);
    for (std::size_t column = 0; column < names.size(); ++column) {
        if (names[column] == name) return sum_of_column(lines, column);
    }
    return 0;
}

std::uint64_t pressure_us(const std::string& text) {
    constexpr std::string_view total = "total=";
    for (const std::string& word : words_of(text.substr(0, text.find('\n')))) {
        if (word.starts_with(total)) return number_of(std::string_view(word).substr(total.size()), 10);
    }
    return 0;
}

std::map<std::string, std::uint64_t> node_counters() {
    std::map<std::string, std::uint64_t> counters;
    const auto add = [&](const char* name, const char* path, auto reader) {
        if (const std::string text = text_in(path); !text.empty()) counters[name] = reader(text);
    };
    add("softnet_drops", "/proc/self/net/softnet_stat", [](const auto& text) { return softnet_column(text, 1); });
    add("conntrack_drops", "/proc/self/net/stat/nf_conntrack",
        [](const auto& text) { return conntrack_column(text, "drop"); });
    add("processor_waits_us", "/proc/pressure/cpu", pressure_us);
    if (const long pages = ::sysconf(_SC_PHYS_PAGES); pages > 0) {
        counters["memory_pages"] = static_cast<std::uint64_t>(pages);
    }
    return counters;
}

}  // namespace headway

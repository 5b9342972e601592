// SPDX-License-Identifier: Apache-2.0
#include "kernel/tcp_counters.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

namespace headway {
namespace {

/// The next word of `line`, which loses it; empty: there is none.
std::string_view take_word(std::string_view& line) {
    const auto begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) return {};
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    return word;
}

std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line;
}

std::optional<std::uint64_t> counter_of_file(const char* path, std::string_view prefix,
                                             std::string_view name) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return proc_net_counter(text.str(), prefix, name);
}

}  // namespace

std::optional<std::uint64_t> proc_net_counter(std::string_view text, std::string_view prefix,
                                              std::string_view name) {
    while (!text.empty()) {
        std::string_view names = take_line(text);
        if (take_word(names) != prefix) continue;
        std::string_view numbers = take_line(text);
        if (take_word(numbers) != prefix) return std::nullopt;
        for (;;) {
            const std::string_view one = take_word(names), number = take_word(numbers);
            if (one.empty() || number.empty()) return std::nullopt;
            if (one != name) continue;
            std::uint64_t value = 0;
            const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
            if (read.ec != std::errc() || read.ptr != number.data() + number.size()) return std::nullopt;
            return value;
        }
    }
    return std::nullopt;
}

std::optional<TcpCounters> read_tcp_counters() {
    const auto timeouts = counter_of_file("/proc/self/net/netstat", "TcpExt:", "TCPTimeouts");
    const auto segments = counter_of_file("/proc/self/net/snmp", "Tcp:", "RetransSegs");
    if (!timeouts || !segments) return std::nullopt;
    return TcpCounters{*timeouts, *segments};
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "kernel/tcp_counters.hpp"

#include <fstream>
#include <sstream>
#include <string>

namespace headway {
namespace {

std::optional<std::uint64_t> counter_of_file(const char* path, std::string_view prefix,
                                             std::string_view name) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return proc_net_counter(text.str(), prefix, name);
}

}  // namespace

std::optional<std::uint64_t> proc_net_counter(std::string_view text, std::string_view prefix,
                                              std::string_view name) {
    std::istringstream lines{std::string(text)};
    for (std::string line, word; std::getline(lines, line);) {
        std::istringstream names(line);
        if (!(names >> word) || word != prefix) continue;
        std::getline(lines, line);
        std::istringstream numbers(line);
        if (!(numbers >> word) || word != prefix) return std::nullopt;
        // some are negative, but none that counts
        for (std::int64_t number = 0; names >> word && numbers >> number;) {
            if (word == name && number >= 0) return static_cast<std::uint64_t>(number);
        }
        return std::nullopt;
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

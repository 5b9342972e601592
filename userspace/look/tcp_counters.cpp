// SPDX-License-Identifier: Apache-2.0
#include "look/tcp_counters.hpp"

#include <linux/tcp.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace headway {
namespace {

// tcpi_total_rto, of 16 bits, since Linux 6.7: behind what the header of Debian 12 has.
constexpr std::size_t total_rto_offset = 240;
static_assert(offsetof(tcp_info, tcpi_snd_wnd) == total_rto_offset - 12);

constexpr std::uint32_t unknown_rtt_us = ~0U;  // tcpi_min_rtt before the first

template <class Number>
std::optional<Number> number_at(std::span<const std::byte> info, std::size_t offset) {
    if (info.size() < offset + sizeof(Number)) return std::nullopt;
    Number number{};
    std::memcpy(&number, info.data() + offset, sizeof(number));
    return number;
}

}  // namespace

TcpInfoCounts counts_in(std::span<const std::byte> info) {
    const auto number = [&](std::size_t offset) { return number_at<std::uint32_t>(info, offset).value_or(0); };
    const auto long_number = [&](std::size_t offset) { return number_at<std::uint64_t>(info, offset).value_or(0); };
    const std::uint32_t least_rtt_us = number(offsetof(tcp_info, tcpi_min_rtt));
    const auto options = number_at<std::uint8_t>(info, offsetof(tcp_info, tcpi_options)).value_or(0);
    const std::uint32_t retransmissions = number(offsetof(tcp_info, tcpi_total_retrans));
    return {number(offsetof(tcp_info, tcpi_data_segs_out)), retransmissions,
            number_at<std::uint16_t>(info, total_rto_offset), number(offsetof(tcp_info, tcpi_rtt)),
            std::min(retransmissions, number(offsetof(tcp_info, tcpi_dsack_dups))),
            long_number(offsetof(tcp_info, tcpi_bytes_acked)), number(offsetof(tcp_info, tcpi_snd_mss)),
            long_number(offsetof(tcp_info, tcpi_busy_time)), long_number(offsetof(tcp_info, tcpi_rwnd_limited)),
            long_number(offsetof(tcp_info, tcpi_sndbuf_limited)),
            least_rtt_us == unknown_rtt_us ? 0 : least_rtt_us, number(offsetof(tcp_info, tcpi_snd_cwnd)),
            (options & TCPI_OPT_ECN) != 0};
}

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

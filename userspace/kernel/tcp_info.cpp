// SPDX-License-Identifier: Apache-2.0
#include "kernel/tcp_info.hpp"

#include <linux/tcp.h>

#include <cstring>

namespace headway {
namespace {

// tcpi_total_rto, of 16 bits, since Linux 6.7: behind what the header of Debian 12 has.
constexpr std::size_t total_rto_offset = 240;
static_assert(offsetof(tcp_info, tcpi_snd_wnd) == total_rto_offset - 12);

template <class Number>
std::optional<Number> number_at(std::span<const std::byte> info, std::size_t offset) {
    if (info.size() < offset + sizeof(Number)) return std::nullopt;
    Number number{};
    std::memcpy(&number, info.data() + offset, sizeof(number));
    return number;
}

}  // namespace

TcpInfoCounts counts_in(std::span<const std::byte> info) {
    return {number_at<std::uint32_t>(info, offsetof(tcp_info, tcpi_data_segs_out)).value_or(0),
            number_at<std::uint32_t>(info, offsetof(tcp_info, tcpi_total_retrans)).value_or(0),
            number_at<std::uint16_t>(info, total_rto_offset),
            number_at<std::uint32_t>(info, offsetof(tcp_info, tcpi_rtt)).value_or(0)};
}

}  // namespace headway

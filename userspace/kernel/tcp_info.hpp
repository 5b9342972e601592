// SPDX-License-Identifier: Apache-2.0
// What the kernel's TCP_INFO, as long as this kernel makes it, tells of lost packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace headway {

/// Of a connection, from its beginning.
struct TcpInfoCounts {
    std::uint64_t segments = 0;         ///< with data, sent; retransmissions included
    std::uint64_t retransmissions = 0;  ///< segments
    std::optional<std::uint32_t> timeouts{};  ///< none: the kernel does not count them by socket
    std::uint32_t rtt_us = 0;                 ///< smoothed; 0: not measured yet

    friend bool operator==(const TcpInfoCounts&, const TcpInfoCounts&) = default;
};

/// Of a tcp_info that may be shorter than this program's idea of it, or longer.
[[nodiscard]] TcpInfoCounts counts_in(std::span<const std::byte> info);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// What the kernel's TCP tells of lost packets, which pacing is to prevent: of a connection, by
// a TCP_INFO as long as this kernel makes it, and of the whole node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace headway {

/// Counts of one connection, from its beginning.
struct TcpInfoCounts {
    std::uint64_t segments = 0;         ///< with data, sent; retransmissions included
    std::uint64_t retransmissions = 0;  ///< segments
    std::optional<std::uint32_t> timeouts{};  ///< none: the kernel does not count them by socket
    std::uint32_t rtt_us = 0;                 ///< smoothed; 0: not measured yet
    /// Retransmissions of what had arrived, as the receiver says (DSACK): probes, and early
    /// time-outs.
    std::uint64_t needless_retransmissions = 0;
    std::uint64_t acknowledged_bytes = 0;
    std::uint32_t segment_bytes = 0;            ///< of a full segment, 0: unknown
    std::uint64_t busy_us = 0;                  ///< while there was data to send; of these
    std::uint64_t receiver_limited_us = 0;      ///< the receiver's window was full
    std::uint64_t send_buffer_limited_us = 0;   ///< the send buffer was too small for the window
    std::uint32_t least_rtt_us = 0;             ///< of all round trips; 0: not measured yet
    std::uint32_t window_segments = 0;          ///< that congestion control allows under way
    bool is_ecn_used = false;                   ///< both ends have agreed on it

    /// Less when the receiver tells of one that it had already.
    [[nodiscard]] std::uint64_t needed_retransmissions() const { return retransmissions - needless_retransmissions; }

    friend bool operator==(const TcpInfoCounts&, const TcpInfoCounts&) = default;
};

/// Reads a tcp_info, which may be shorter or longer than the structure that this program knows.
[[nodiscard]] TcpInfoCounts counts_in(std::span<const std::byte> info);

struct TcpCounters {
    std::uint64_t timeouts = 0;         ///< TCPTimeouts of /proc/net/netstat
    std::uint64_t retransmissions = 0;  ///< RetransSegs of /proc/net/snmp, segments
};

/// A line of names and one of numbers, each behind "Prefix:"; none: it is not there.
[[nodiscard]] std::optional<std::uint64_t> proc_net_counter(std::string_view text,
                                                            std::string_view prefix,
                                                            std::string_view name);

/// Reads this process's network namespace; none: the kernel does not say.
[[nodiscard]] std::optional<TcpCounters> read_tcp_counters();

}  // namespace headway

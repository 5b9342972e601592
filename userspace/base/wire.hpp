// SPDX-License-Identifier: Apache-2.0
// What a frame costs on an Ethernet wire.  Every rate in Headway counts these
// bytes: dividing a trunk by what programs call bytes would oversubscribe it.
#pragma once

#include <algorithm>
#include <cstdint>

#include <linux/pkt_sched_gap.h>

namespace headway {

/// Byte-times that one frame of `frame_bytes` takes (Ethernet header and VLAN
/// tags included, FCS not): padded to 60, then FCS 4, preamble 8, inter-frame
/// gap 12.  The kernel's byte clock counts the same.
[[nodiscard]] constexpr std::uint64_t wire_bytes(std::uint64_t frame_bytes) {
    return std::max<std::uint64_t>(frame_bytes, GAP_FRAME_MIN_BYTES) + GAP_FRAME_OVERHEAD_BYTES;
}

/// TCP over IPv4 in Ethernet frames of 1514 bytes, with time stamps, as Linux
/// sends it: payload and headers of a full segment.
inline constexpr std::uint64_t tcp_segment_bytes = 1448;
inline constexpr std::uint64_t tcp_header_bytes = 14 + 20 + 32;

/// Byte-times that a message of `payload_bytes` takes as full segments and a rest; of one for which
/// 64 bits are too few, as many as they hold.
[[nodiscard]] constexpr std::uint64_t tcp_wire_bytes(std::uint64_t payload_bytes) {
    constexpr std::uint64_t segment = wire_bytes(tcp_segment_bytes + tcp_header_bytes);
    const std::uint64_t rest = payload_bytes % tcp_segment_bytes;
    if (payload_bytes / tcp_segment_bytes >= UINT64_MAX / segment) return UINT64_MAX;
    return payload_bytes / tcp_segment_bytes * segment + (rest == 0 ? 0 : wire_bytes(rest + tcp_header_bytes));
}

/// Calculates tcp_wire_bytes() for a computed amount of any size that is not negative.
[[nodiscard]] constexpr double tcp_wire_bytes_of(double payload_bytes) {
    constexpr double beyond = 18446744073709551616.0;  // 2^64
    return static_cast<double>(
        payload_bytes < beyond ? tcp_wire_bytes(static_cast<std::uint64_t>(payload_bytes)) : UINT64_MAX);
}

/// The largest message whose tcp_wire_bytes() are no more than `room_bytes`.
[[nodiscard]] constexpr std::uint64_t tcp_payload_within(std::uint64_t room_bytes) {
    constexpr std::uint64_t segment = wire_bytes(tcp_segment_bytes + tcp_header_bytes);
    constexpr std::uint64_t headers = segment - tcp_segment_bytes;
    const std::uint64_t rest = room_bytes % segment;
    return room_bytes / segment * tcp_segment_bytes + (rest > headers ? rest - headers : 0);
}

}  // namespace headway

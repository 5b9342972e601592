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

/// Wire bytes of `payload_bytes` sent over TCP/IPv4 in full segments of an
/// Ethernet of 1500-byte packets with TCP time stamps: 1448 of 1538 byte-times
/// are payload.  ACK frames are not counted.
[[nodiscard]] constexpr std::uint64_t tcp_payload_wire_bytes(std::uint64_t payload_bytes) {
    constexpr std::uint64_t segment_bytes = 1448;
    constexpr std::uint64_t headers_bytes = 14 + 20 + 20 + 12;  // Ethernet, IPv4, TCP, time stamps
    const std::uint64_t rest_bytes = payload_bytes % segment_bytes;
    return payload_bytes / segment_bytes * wire_bytes(segment_bytes + headers_bytes) +
           (rest_bytes == 0 ? 0 : wire_bytes(rest_bytes + headers_bytes));
}

}  // namespace headway

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

}  // namespace headway

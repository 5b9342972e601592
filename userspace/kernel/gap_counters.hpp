// SPDX-License-Identifier: Apache-2.0
// What a gap qdisc counts of itself, for who watches it: reading needs no privilege.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <linux/netlink.h>

#include "base/error.hpp"

namespace headway {

struct GapCounters {
    std::uint64_t stamp_ns = 0;        ///< CLOCK_MONOTONIC when the kernel read these
    std::uint64_t wire_bytes = 0;      ///< of data frames
    std::uint64_t gap_packets = 0;
    std::uint64_t gap_wire_bytes = 0;
    std::uint64_t direct_packets = 0;  ///< of no class
    std::uint64_t underruns = 0;
    std::uint64_t fallbacks = 0;       ///< times the device was found out to lose gap frames
    std::uint64_t expired = 0;         ///< classes that fell back
    /// What the driver was given and has given back, modulo 2^32, frames without what
    /// only the wire adds; both 0 where it keeps no such count.
    std::uint32_t device_queued_bytes = 0;
    std::uint32_t device_completed_bytes = 0;

    friend bool operator==(const GapCounters&, const GapCounters&) = default;
};

/// Of one message of a dump of qdiscs; none: it is not the device's root, or no gap.
[[nodiscard]] std::optional<GapCounters> decode_gap_counters(const nlmsghdr* message, int ifindex);

/// Of the device's root qdisc; none: it is no gap.
[[nodiscard]] Result<std::optional<GapCounters>> read_gap_counters(const std::string& device);

}  // namespace headway

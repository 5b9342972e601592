// SPDX-License-Identifier: Apache-2.0
// What a receiver saw of a bulk, and what follows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headway {

/// A frame as its receiver saw it.
struct Arrival {
    std::int64_t time_ns = 0;      ///< the receiver's own clock
    std::uint32_t sequence = 0;    ///< from 0, by flow
    std::uint32_t wire_bytes = 0;
};

struct ArrivalSummary {
    std::uint64_t frames = 0;
    /// Bytes that arrived in the middle half of the flow over the time they took.  The flow
    /// is as long as from its first to its last frame.  Of the whole flow if there are fewer
    /// than three frames in the middle; 0: there are not even in all of it.
    double bytes_per_s = 0;
};

/// Of one flow, in the order of arrival.  A frame that came twice counts once.
[[nodiscard]] ArrivalSummary summarise(std::span<const Arrival> arrivals);

}  // namespace headway

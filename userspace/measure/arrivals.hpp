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
    std::uint64_t frames = 0;  ///< one that came twice counts once
    double bytes_per_s = 0;
};

/// Summarises the flows of a bulk to one receiver, each in the order of arrival.  All rates are of
/// the middle half of the time in which all flows were running, so that they add up to what the
/// receiver's link carried then; a flow of which nothing arrived then has the rate of all its time.
/// A rate of 0 means that fewer than three frames arrived.
[[nodiscard]] std::vector<ArrivalSummary> summarise(std::span<const std::span<const Arrival>> flows);

}  // namespace headway

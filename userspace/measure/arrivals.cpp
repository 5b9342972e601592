// SPDX-License-Identifier: Apache-2.0
#include "measure/arrivals.hpp"

#include <algorithm>

namespace headway {
namespace {

std::uint64_t different_frames(std::span<const Arrival> arrivals) {
    std::vector<std::uint32_t> sequences;
    sequences.reserve(arrivals.size());
    for (const Arrival& arrival : arrivals) sequences.push_back(arrival.sequence);
    std::sort(sequences.begin(), sequences.end());
    return static_cast<std::uint64_t>(std::unique(sequences.begin(), sequences.end()) -
                                      sequences.begin());
}

/// 0: too few frames arrived then.
double rate_between(std::span<const Arrival> arrivals, std::int64_t begin_ns, std::int64_t end_ns) {
    constexpr std::uint64_t frames_min = 3;
    std::int64_t from = 0, to = 0;
    std::uint64_t bytes = 0, frames = 0;
    for (const Arrival& arrival : arrivals) {
        if (arrival.time_ns < begin_ns || arrival.time_ns > end_ns) continue;
        // a frame ends its own time on the wire, so the first one's bytes are of before
        if (frames++ == 0) from = arrival.time_ns;
        else bytes += arrival.wire_bytes;
        to = arrival.time_ns;
    }
    if (frames < frames_min || to <= from) return 0;
    return static_cast<double>(bytes) * 1e9 / static_cast<double>(to - from);
}

}  // namespace

std::vector<ArrivalSummary> summarise(std::span<const std::span<const Arrival>> flows) {
    std::int64_t begin_ns = 0, end_ns = 0;
    bool is_first = true;
    for (const auto& arrivals : flows) {
        if (arrivals.empty()) continue;
        begin_ns = is_first ? arrivals.front().time_ns : std::max(begin_ns, arrivals.front().time_ns);
        end_ns = is_first ? arrivals.back().time_ns : std::min(end_ns, arrivals.back().time_ns);
        is_first = false;
    }
    const std::int64_t quarter = end_ns > begin_ns ? (end_ns - begin_ns) / 4 : 0;
    std::vector<ArrivalSummary> summaries;
    for (const auto& arrivals : flows) {
        ArrivalSummary& summary = summaries.emplace_back();
        if (arrivals.empty()) continue;
        summary.frames = different_frames(arrivals);
        summary.bytes_per_s = rate_between(arrivals, begin_ns + quarter, end_ns - quarter);
        // a receiver or a sender that was kept waiting may have seen nothing in the middle
        if (summary.bytes_per_s == 0)
            summary.bytes_per_s = rate_between(arrivals, arrivals.front().time_ns, arrivals.back().time_ns);
    }
    return summaries;
}

}  // namespace headway

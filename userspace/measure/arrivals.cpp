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

struct Window {
    std::int64_t begin_ns = 0, end_ns = 0;
};

/// Narrows a window to the time from the first frame of any flow in it to the last one.
Window from_frame_to_frame(std::span<const std::span<const Arrival>> flows, Window wanted) {
    Window window{wanted.end_ns, wanted.begin_ns};
    for (const auto& arrivals : flows) {
        for (const Arrival& arrival : arrivals) {
            if (arrival.time_ns < wanted.begin_ns || arrival.time_ns > wanted.end_ns) continue;
            window.begin_ns = std::min(window.begin_ns, arrival.time_ns);
            window.end_ns = std::max(window.end_ns, arrival.time_ns);
        }
    }
    return window;
}

/// 0: too few frames arrived then.
double rate_within(std::span<const Arrival> arrivals, Window window) {
    constexpr std::uint64_t frames_min = 2;
    std::uint64_t bytes = 0, frames = 0;
    for (const Arrival& arrival : arrivals) {
        // a frame ends its own time on the wire, so the first one's bytes are of before
        if (arrival.time_ns <= window.begin_ns || arrival.time_ns > window.end_ns) continue;
        bytes += arrival.wire_bytes;
        ++frames;
    }
    if (frames < frames_min) return 0;
    return static_cast<double>(bytes) * 1e9 / static_cast<double>(window.end_ns - window.begin_ns);
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
    const Window middle = from_frame_to_frame(flows, {begin_ns + quarter, end_ns - quarter});
    std::vector<ArrivalSummary> summaries;
    for (const auto& arrivals : flows) {
        ArrivalSummary& summary = summaries.emplace_back();
        if (arrivals.empty()) continue;
        summary.frames = different_frames(arrivals);
        summary.bytes_per_s = rate_within(arrivals, middle);
        // a receiver or a sender that was kept waiting may have seen nothing in the middle
        if (summary.bytes_per_s == 0)
            summary.bytes_per_s = rate_within(arrivals, {arrivals.front().time_ns, arrivals.back().time_ns});
    }
    return summaries;
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "models/plogpt_measure.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headway {

Result<PlogpParameters> plogp_from_round_trips(double empty_gap_s,
                                               const std::vector<RoundTrip>& trips) {
    const auto empty = std::find_if(trips.begin(), trips.end(),
                                    [](const RoundTrip& trip) { return trip.message_bytes == 0; });
    if (empty == trips.end()) return failure("the round trip of an empty message is missing");
    const double latency_s = empty->round_trip_s / 2 - empty_gap_s;
    if (!(latency_s >= 0) || std::isinf(latency_s)) {
        return failure("a round trip of {} s and g(0) = {} s make a latency of {} s",
                       empty->round_trip_s, empty_gap_s, latency_s);
    }
    std::vector<GapPoint> gaps;
    for (const RoundTrip& trip : trips) {
        // g(0) is what was measured, whatever rounding makes of the difference
        const bool is_empty = trip.message_bytes == 0;
        gaps.push_back({trip.message_bytes,
                        is_empty ? empty_gap_s : trip.round_trip_s - 2 * latency_s - empty_gap_s});
    }
    auto table = GapTable::make(std::move(gaps));
    if (!table) return tl::unexpected(table.error());
    return PlogpParameters{latency_s, std::move(*table)};
}

Result<PlogptLinks> plogpt_links_from_bursts(const std::vector<HeightMeasurement>& heights,
                                             BurstDirection direction) {
    PlogptLinks links;
    if (heights.size() > PlogptTree::height_max) {
        return failure("a tree has at most {} heights", PlogptTree::height_max);
    }
    for (std::size_t i = 0; i < heights.size(); ++i) {
        const auto& pairs = heights[i].pair_bandwidths_bytes_per_s;
        const std::size_t pairs_expected = std::size_t{1} << i;
        if (pairs.size() != pairs_expected) {
            return failure("height {}: {} pairs were measured instead of {}", i + 1, pairs.size(),
                           pairs_expected);
        }
        const double added_s =
            std::max(0.0, heights[i].loaded_latency_s - heights[i].idle_latency_s);
        links.bandwidth_bytes_per_s.push_back(std::accumulate(pairs.begin(), pairs.end(), 0.0));
        links.buffer_delay_s.push_back(direction == BurstDirection::both_ways ? added_s / 2
                                                                              : added_s);
    }
    return links;
}

}  // namespace headway

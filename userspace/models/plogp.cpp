// SPDX-License-Identifier: Apache-2.0
#include "models/plogp.hpp"

#include <algorithm>
#include <cmath>

namespace headway {

Result<GapTable> GapTable::make(std::vector<GapPoint> points) {
    if (points.empty()) return failure("a gap must be known for one message size at least");
    for (const GapPoint& point : points) {
        const bool good = std::isfinite(point.message_bytes) && point.message_bytes >= 0 &&
                          std::isfinite(point.gap_s) && point.gap_s >= 0;
        if (!good) {
            return failure("gap of {} bytes is {} s: both must be finite and not negative",
                           point.message_bytes, point.gap_s);
        }
    }
    const auto by_size = [](const GapPoint& a, const GapPoint& b) {
        return a.message_bytes < b.message_bytes;
    };
    std::sort(points.begin(), points.end(), by_size);
    for (std::size_t i = 1; i < points.size(); ++i) {
        if (points[i - 1].message_bytes == points[i].message_bytes) {
            return failure("the gap of {} bytes is given twice", points[i].message_bytes);
        }
    }
    return GapTable(std::move(points));
}

double GapTable::operator()(double message_bytes) const {
    if (points_.size() == 1 || message_bytes <= points_.front().message_bytes) {
        return points_.front().gap_s;
    }
    // the segment that the size is in, or the last one
    auto upper = std::lower_bound(
        points_.begin() + 1, points_.end() - 1, message_bytes,
        [](const GapPoint& point, double bytes) { return point.message_bytes < bytes; });
    const GapPoint& lower = *(upper - 1);
    const double fraction = (message_bytes - lower.message_bytes) /
                            (upper->message_bytes - lower.message_bytes);
    return std::max(0.0, lower.gap_s + fraction * (upper->gap_s - lower.gap_s));
}

double plogp_alltoall_a_s(std::uint64_t processes, double gap_s, double latency_s) {
    return static_cast<double>(processes - 1) * (gap_s + latency_s);
}

double plogp_alltoall_b_s(std::uint64_t processes, double gap_s, double latency_s) {
    return static_cast<double>(processes - 1) * gap_s + latency_s;
}

}  // namespace headway

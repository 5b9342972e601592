// SPDX-License-Identifier: Apache-2.0
#include "models/plogpt_gap.hpp"

#include <algorithm>
#include <limits>

namespace headway {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

Result<void> check(const std::vector<ThroughputStep>& profile) {
    for (std::size_t i = 0; i < profile.size(); ++i) {
        if (!(profile[i].throughput_bytes_per_s >= 0)) {
            return failure("step {}: throughput {} is negative", i,
                           profile[i].throughput_bytes_per_s);
        }
        if (i > 0 && !(profile[i].time_s >= profile[i - 1].time_s)) {
            return failure("step {}: {} s is before the step before it", i, profile[i].time_s);
        }
    }
    return {};
}

}  // namespace

Result<double> plogpt_gap_s(double amount_bytes, double start_s,
                            const std::vector<ThroughputStep>& profile) {
    if (auto good = check(profile); !good) return tl::unexpected(good.error());
    double left_bytes = amount_bytes;
    if (left_bytes <= 0) return 0;
    for (std::size_t i = 0; i < profile.size(); ++i) {
        const double from = std::max(profile[i].time_s, start_s);
        const double to = i + 1 < profile.size() ? profile[i + 1].time_s : never;
        const double throughput = profile[i].throughput_bytes_per_s;
        if (to <= from || throughput == 0) continue;
        const double moved_bytes = throughput * (to - from);
        if (moved_bytes >= left_bytes) return from - start_s + left_bytes / throughput;
        left_bytes -= moved_bytes;
    }
    return never;
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_needs.hpp"

namespace headway {

BytesPerSecond remote_rate(const AllToAllPlan& plan, std::size_t cluster) {
    BytesPerSecond sum;
    for (std::size_t to = 0; to < plan.rates.size(); ++to) {
        if (to != cluster) sum.value += plan.rates[cluster][to].value_or(BytesPerSecond{}).value;
    }
    return sum;
}

std::uint64_t pair_window_bytes(const AllToAllPlan& plan, const Topology& topology,
                                std::size_t from, std::size_t to) {
    constexpr std::uint64_t ns_per_s = 1'000'000'000;
    const auto round_trip_ns = static_cast<std::uint64_t>(2 * topology.delay(from, to).count());
    const auto bits_ns = static_cast<unsigned __int128>(plan.pair_rate.value) * round_trip_ns;
    return static_cast<std::uint64_t>((bits_ns + 8 * ns_per_s - 1) / (8 * ns_per_s));
}

}  // namespace headway

// SPDX-License-Identifier: MIT
#include "traffic_request.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace headway::glue {

double bytes_of_unit(const HostTraffic& traffic) {
    double largest = 0;
    for (const auto& [pair, bytes] : traffic) largest = std::max(largest, bytes);
    return largest / 1000;
}

ObjectText traffic_request(const HostTraffic& traffic, const std::vector<std::string>& hosts) {
    const double unit = bytes_of_unit(traffic);
    std::vector<std::array<std::uint64_t, 3>> flows;
    for (const auto& [pair, bytes] : traffic) {
        const double part = std::max(1.0, std::round(bytes / unit));
        flows.push_back({static_cast<std::uint64_t>(pair.first), static_cast<std::uint64_t>(pair.second),
                         static_cast<std::uint64_t>(part)});
    }
    return ObjectText("traffic").texts("hosts", hosts).numbers("flows", flows);
}

}  // namespace headway::glue

// SPDX-License-Identifier: MIT
#include "traffic_request.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace headway::glue {

double bytes_of_unit(const HostTraffic& traffic) {
    double largest = 0;
    for (const auto& [pair, bytes] : traffic) largest = std::max(largest, bytes);
    return largest / 1000;
}

nlohmann::json traffic_request(const HostTraffic& traffic, const std::vector<std::string>& hosts) {
    const double unit = bytes_of_unit(traffic);
    auto flows = nlohmann::json::array();
    for (const auto& [pair, bytes] : traffic) {
        const double part = std::max(1.0, std::round(bytes / unit));
        flows.push_back({pair.first, pair.second, static_cast<std::uint64_t>(part)});
    }
    return {{"op", "traffic"}, {"hosts", hosts}, {"flows", std::move(flows)}};
}

}  // namespace headway::glue

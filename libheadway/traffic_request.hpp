// SPDX-License-Identifier: MIT
// The request "traffic" (Documentation/control-protocol.rst): who sends how much to
// whom, host by host.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "object_text.hpp"

namespace headway::glue {

/// Between two hosts, places in some list; bytes, or any measure of them.
using HostTraffic = std::map<std::pair<int, int>, double>;

/// Returns the unit of the amounts in a request; the traffic is not empty.
[[nodiscard]] double bytes_of_unit(const HostTraffic& traffic);

/// Amounts become thousandths of the largest, which makes requests small.
[[nodiscard]] ObjectText traffic_request(const HostTraffic& traffic, const std::vector<std::string>& hosts);

}  // namespace headway::glue

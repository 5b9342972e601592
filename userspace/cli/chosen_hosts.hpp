// SPDX-License-Identifier: Apache-2.0
// "--hosts a[0-3],b[0-3]", as several verbs take it.
#pragma once

#include <string>
#include <vector>

#include "model/topology.hpp"

namespace headway {

/// Host lists; "all" stands for every host of the topology.
[[nodiscard]] Result<HostSet> chosen_hosts(const Topology& topology,
                                           const std::vector<std::string>& lists);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// "--what-if trunk=20gbit": the same network, but for some of its properties.
#pragma once

#include <string>
#include <vector>

#include "network/topology.hpp"

namespace headway {

/// Each change is KEY=VALUE, or KEY@NAME=VALUE for one cluster (or switch) only:
///   trunk, trunk_up, trunk_down, host    a rate ("20gbit")
///   delay                                of the trunk, one way ("5ms")
///   trunk_buffer, host_buffer            bytes ("64KiB", "1MiB")
///   uplinks                              links of a trunk that a hash chooses, 1 to 64
/// What was measured of the network as it is does not hold for the changed one, which has no
/// measurements.  Fails with the change that cannot be read; the topology then stays as it was.
[[nodiscard]] Result<void> apply_what_if(Topology& topology,
                                         const std::vector<std::string>& changes);

}  // namespace headway

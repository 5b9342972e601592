// SPDX-License-Identifier: Apache-2.0
// The counters of a device's gap qdisc, for who watches it: reading needs no privilege.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "kernel/traffic_control.hpp"

namespace headway {

/// Reads the counters of the root qdisc; none if the root is not a gap qdisc.
[[nodiscard]] Result<std::optional<GapCounters>> read_gap_counters(const std::string& device);

}  // namespace headway

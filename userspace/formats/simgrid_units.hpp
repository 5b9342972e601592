// SPDX-License-Identifier: Apache-2.0
// SimGrid's numbers with units.  Case matters: MBps are bytes, Mbps bits.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace headway {

/// "125MBps", "1Gbps", "1.25GiBps", "1e9bps"; without a unit bytes per second.
/// Rounded to whole bits per second.
[[nodiscard]] Result<BitsPerSecond> parse_simgrid_bandwidth(std::string_view text);

/// "50us", "0.5ms", "1m"; without a unit seconds.  Rounded to nanoseconds.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_simgrid_latency(std::string_view text);

/// Exactly, in bits: "1Gbps".
[[nodiscard]] std::string simgrid_bandwidth(BitsPerSecond rate);

}  // namespace headway

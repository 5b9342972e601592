// SPDX-License-Identifier: Apache-2.0
// What can be known of a network interface without changing it, for a report of the
// self-test: its driver, queues, speed, what it is part of, and all its counters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/rate.hpp"

namespace headway {

/// What sysfs says in "speed"; none: the device does not know it.
[[nodiscard]] std::optional<BitsPerSecond> device_speed(const std::string& interface);
[[nodiscard]] std::optional<BitsPerSecond> parse_device_speed(std::string_view megabits);

/// By name, as sysfs and ethtool call them; what cannot be read is left out.
[[nodiscard]] std::map<std::string, std::string> device_facts(const std::string& interface);

/// Counters of the kernel ("statistics/...") and of the driver ("ethtool/...").
[[nodiscard]] std::map<std::string, std::uint64_t> device_counters(const std::string& interface);

}  // namespace headway

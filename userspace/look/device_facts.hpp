// SPDX-License-Identifier: Apache-2.0
// What can be known of a network interface without changing it, for reports of the doctor and
// of the self-test: its driver, queues, speed, what it is part of, and all its counters.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace headway {

/// By name, as sysfs and ethtool call them; what cannot be read is left out.
[[nodiscard]] std::map<std::string, std::string> device_facts(const std::string& interface);

/// Counters of the kernel ("statistics/...") and of the driver ("ethtool/...").
[[nodiscard]] std::map<std::string, std::uint64_t> device_counters(const std::string& interface);

}  // namespace headway

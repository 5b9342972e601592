// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace headway {

/// What sysfs says in "speed"; none: the device does not know it.
[[nodiscard]] std::optional<BitsPerSecond> device_speed(const std::string& interface);
[[nodiscard]] std::optional<BitsPerSecond> parse_device_speed(std::string_view megabits);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace headway {

/// Reads sysfs's "speed" of the device; none: the device does not know it.
[[nodiscard]] std::optional<BitsPerSecond> device_speed(const std::string& interface);
[[nodiscard]] std::optional<BitsPerSecond> parse_device_speed(std::string_view megabits);

/// The one that all cards of this node have, which is not that of virtual devices.  None: they
/// differ, one is a part of a bond, or none says it.  `devices`: where sysfs has them.
[[nodiscard]] std::optional<BitsPerSecond> speed_of_all_cards(
    const std::filesystem::path& devices = "/sys/class/net");

}  // namespace headway

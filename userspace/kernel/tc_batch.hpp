// SPDX-License-Identifier: Apache-2.0
// Changes in tc's language, which `headway plan --tc` prints.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernel/traffic_control.hpp"

namespace headway {

/// One line, without the name of the program and without the line's end:
/// "class change dev eth0 classid 1:11 gap rate 25mbit".
[[nodiscard]] std::string tc_line(std::string_view device, const Change& change);

/// One line per change, each ended.
[[nodiscard]] std::string tc_batch(std::string_view device, std::span<const Change> changes);

}  // namespace headway

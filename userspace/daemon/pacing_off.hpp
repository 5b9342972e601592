// SPDX-License-Identifier: Apache-2.0
// `headway off`: that an administrator has switched pacing off on this node, who and when.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "control/protocol.hpp"

namespace headway {

struct PacingOff {
    std::uint64_t since_unix_s = 0;
    uid_t uid = 0;  ///< who asked for it
};

/// As answers and the state file have it.
[[nodiscard]] Json off_json(const PacingOff& off);
/// Any text means that pacing is off: a damaged file must not switch it on.
[[nodiscard]] PacingOff parse_off(std::string_view text);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <array>
#include <string>

namespace headway {

/// What this machine (or this UTS namespace) calls itself.
[[nodiscard]] inline std::string host_name() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace headway::test {

/// It ends a test that hangs.  No test takes so long, however busy the machine is.
inline constexpr std::chrono::seconds hang_limit{600};

}  // namespace headway::test

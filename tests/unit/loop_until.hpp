// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "daemon/event_loop.hpp"
#include "hang_limit.hpp"

namespace headway::test {

/// Turns of the loop until that holds, which an event has to bring about.
template <class Holds>
void loop_until(const EventLoop& loop, Holds holds) {
    constexpr auto limit_us = static_cast<std::uint64_t>(std::chrono::microseconds(hang_limit).count());
    while (!holds() && sd_event_run(loop.get(), limit_us) > 0) {
    }
    EXPECT_TRUE(holds());
}

}  // namespace headway::test

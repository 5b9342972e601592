// SPDX-License-Identifier: Apache-2.0
// What `headway top` shows: the difference of two samples, as JSON and as lines.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernel/traffic_control.hpp"
#include "look/tcp_counters.hpp"
#include "protocol/protocol.hpp"

namespace headway {

struct TopSample {
    Json status;  ///< the daemon's answer
    std::optional<TcpCounters> tcp;
    std::optional<GapCounters> gaps;  ///< none: the kernel has no gap qdisc there
    std::chrono::nanoseconds at{0};
};

/// Counters become what they rose by, or rates; a counter that fell (the daemon or
/// the qdisc is another one) counts from 0.
[[nodiscard]] Json top_frame(const TopSample& before, const TopSample& now);

/// At most `height` lines of at most `width` characters; 0: as many as there are.
[[nodiscard]] std::vector<std::string> top_lines(const Json& frame, std::size_t width,
                                                 std::size_t height);

}  // namespace headway

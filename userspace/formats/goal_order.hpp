// SPDX-License-Identifier: Apache-2.0
// From what depends on what to one thing after the other, for one rank.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace headway {

/// `after` may begin when `before` has ended (or, with `at_start`, has begun).
struct GoalDependency {
    std::uint32_t before = 0;
    std::uint32_t after = 0;
    bool at_start = false;
};

enum class GoalStep { start, wait };

/// Calls `step` for every operation's start, in an order that keeps the
/// dependencies, and for the waits that these need, each operation waited for
/// once at most and only when nothing else can start.  False if operations
/// depend on each other in a circle.
[[nodiscard]] bool order_goal_operations(
    std::uint32_t operations, std::span<const GoalDependency> dependencies,
    const std::function<void(GoalStep, std::uint32_t)>& step);

}  // namespace headway

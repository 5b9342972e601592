// SPDX-License-Identifier: Apache-2.0
// Putting a layout into the kernel and taking it out again, all or nothing.
#pragma once

#include "daemon/kernel_layout.hpp"
#include "model/error.hpp"
#include "model/rate.hpp"
#include "netlink/traffic_control.hpp"

namespace headway {

struct SetUpReport {
    bool replaced_earlier_run = false;
    BytesPerSecond link_rate;  ///< what the qdisc drives
};

/// Refuses an interface whose root qdisc somebody else installed; replaces a
/// gap qdisc of our handle, left by an earlier run.  If a step fails, what the
/// earlier ones did is undone before this returns.  `host_rate` is what the
/// planner takes the interface for: a slower one is refused.
[[nodiscard]] Result<SetUpReport> set_up_kernel(TrafficControl& kernel, const KernelLayout& layout,
                                                BitsPerSecond host_rate);

/// Leaves the interface with its default.  No error if nothing of ours is left.
[[nodiscard]] Result<void> tear_down_kernel(TrafficControl& kernel, const KernelLayout& layout);

}  // namespace headway

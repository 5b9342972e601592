// SPDX-License-Identifier: Apache-2.0
// Putting a layout into the kernel and taking it out again, all or nothing.
#pragma once

#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "config/config.hpp"
#include "kernel/kernel_layout.hpp"
#include "kernel/traffic_control.hpp"

namespace headway {

struct SetUpReport {
    bool is_adopted = false;             ///< the qdisc of an earlier run goes on
    std::vector<ClassState> found{};     ///< then: the classes that it had
    std::optional<std::uint32_t> earlier_program{};  ///< and its classifier, now behind ours
    std::optional<Error> not_adopted{};  ///< why an earlier run's had to be made anew
    BytesPerSecond link_rate;            ///< what the qdisc drives
    bool has_speed = true;               ///< no: the interface reports none, and link_rate is host_rate
};

/// Refuses an interface whose root qdisc somebody else installed.  A gap qdisc
/// of our handle, left by an earlier run, is taken over: what is missing is
/// added, what is too much goes, rates and classes of phases stay as they are.
/// Only where the kernel refuses that it is made anew.  If a step fails, what the
/// earlier ones did is undone before this returns.  `host_rate` is what the
/// planner takes the interface for: a slower one is refused, and one that reports no speed (virtio, a
/// bridge, a bond without a link) is taken to have that.
[[nodiscard]] Result<SetUpReport> set_up_kernel(TrafficControl& kernel, const KernelLayout& layout,
                                                BitsPerSecond host_rate);

/// What decides which qdisc paces an interface.
struct Card {
    std::uint32_t tx_queues = 1;
    BitsPerSecond link_rate;
    bool has_bursts = false;  ///< buffers are known that take several frames at once, towards each cluster
};

/// The qdiscs to be tried, the better first.
[[nodiscard]] std::vector<PacingQdisc> qdiscs_for(PacingQdisc wanted, const Card& card);

/// Whether it was refused because the kernel has no module for its qdisc.
[[nodiscard]] bool is_module_missing(const Error& error);

/// Leaves the interface with its default, as does one that is gone by now.  True
/// if anything of ours was there.
[[nodiscard]] Result<bool> tear_down_kernel(TrafficControl& kernel, const KernelLayout& layout);

}  // namespace headway

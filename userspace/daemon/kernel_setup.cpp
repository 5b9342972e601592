// SPDX-License-Identifier: Apache-2.0
#include "daemon/kernel_setup.hpp"

#include <cerrno>

namespace headway {
namespace {

constexpr const char* our_kind = "gap";

bool is_ours(const std::optional<RootQdisc>& root) {
    return root && root->kind == our_kind && root->handle == root_handle;
}

/// Adds what an administrator can do about the commonest refusals.  They are
/// known by the kernel's (or tc's) words: through tc there is no errno.
Error with_advice(const Error& error) {
    const auto says = [&](std::string_view words) {
        return error.message.find(words) != std::string::npos;
    };
    if (says("qdisc kind is unknown")) {
        return {error.message + "; the kernel module sch_gap is not loaded and was not found: "
                                "install it for this kernel (modprobe sch_gap must succeed)",
                error.error_number};
    }
    if (says("Unknown qdisc \"gap\"")) {
        return {error.message + "; tc does not find its plugin q_gap.so: name its folder in "
                                "[kernel] tc_plugin_dir",
                error.error_number};
    }
    if (says("Operation not permitted")) {
        return {error.message + "; headwayd needs root or CAP_NET_ADMIN", error.error_number};
    }
    return error;
}

Result<void> clear_earlier_run(TrafficControl& kernel, const KernelLayout& layout,
                               SetUpReport& report) {
    const auto root = kernel.root_qdisc();
    if (!root) return tl::unexpected(root.error());
    if (!*root || (*root)->is_default()) return {};
    if (!is_ours(*root)) {
        return system_failure(EEXIST,
                              "the interface has a root qdisc already: {} {}, which somebody else "
                              "installed; remove it first (tc qdisc del dev ... root) or name "
                              "another interface",
                              (*root)->kind, (*root)->handle.to_string());
    }
    if (auto removed = tear_down_kernel(kernel, layout); !removed) return removed;
    report.replaced_earlier_run = true;
    return {};
}

Result<void> check_link_rate(TrafficControl& kernel, BitsPerSecond host_rate,
                             SetUpReport& report) {
    const auto root = kernel.root_qdisc();
    if (!root) return tl::unexpected(root.error());
    if (!is_ours(*root) || !(*root)->link_rate) {
        return failure("the kernel does not show the qdisc that was just added");
    }
    report.link_rate = *(*root)->link_rate;
    if (host_rate > report.link_rate.bits()) {
        return failure("host_rate is {}, but the interface drives a link of {}; correct host_rate "
                       "of the node's cluster",
                       rate_to_text(host_rate), rate_to_text(report.link_rate.bits()));
    }
    return {};
}

Error undone(TrafficControl& kernel, const KernelLayout& layout, const Error& error) {
    // Classes and filters live in the qdisc, so deleting it undoes any
    // beginning of the set-up, and cannot itself end halfway.
    const auto removed = tear_down_kernel(kernel, layout);
    if (removed) return error;
    return {fmt::format("{}; and undoing it failed: {}", error.message, removed.error().message),
            error.error_number};
}

}  // namespace

Result<SetUpReport> set_up_kernel(TrafficControl& kernel, const KernelLayout& layout,
                                  BitsPerSecond host_rate) {
    SetUpReport report;
    if (auto cleared = clear_earlier_run(kernel, layout, report); !cleared) {
        return tl::unexpected(cleared.error());
    }
    if (const auto built = kernel.apply(layout.set_up, ApplyMode::in_order); !built) {
        return tl::unexpected(undone(kernel, layout, with_advice(built.error().error)));
    }
    if (const auto fits = check_link_rate(kernel, host_rate, report); !fits) {
        return tl::unexpected(undone(kernel, layout, fits.error()));
    }
    return report;
}

Result<void> tear_down_kernel(TrafficControl& kernel, const KernelLayout& layout) {
    const auto root = kernel.root_qdisc();
    if (!root) return tl::unexpected(root.error());
    if (!is_ours(*root)) return {};
    const auto removed = kernel.apply(std::span(&layout.tear_down, 1), ApplyMode::in_order);
    if (!removed) return tl::unexpected(removed.error().error);
    return {};
}

}  // namespace headway

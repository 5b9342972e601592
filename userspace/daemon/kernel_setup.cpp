// SPDX-License-Identifier: Apache-2.0
#include "daemon/kernel_setup.hpp"

#include <algorithm>
#include <cerrno>

#include "kernel/kernel_diff.hpp"
#include "phase/phase_tables.hpp"

namespace headway {
namespace {

/// Adds what an administrator can do about the commonest refusals, which are known by the
/// kernel's words.
Error with_advice(const Error& error) {
    if (is_module_missing(error)) {
        return {error.message + "; the kernel module sch_gap is not loaded and was not found: "
                                "install it for this kernel (modprobe sch_gap must succeed), or let "
                                "fq pace ([kernel] backend = \"fq\")",
                error.error_number};
    }
    if (error.message.find("Operation not permitted") != std::string::npos) {
        return {error.message + "; headwayd needs root or CAP_NET_ADMIN", error.error_number};
    }
    return error;
}

bool has_classifier(const KernelLayout& layout) {
    return std::any_of(
        layout.set_up.begin(), layout.set_up.end(),
        [](const Change& change) { return std::holds_alternative<AddClassifier>(change); });
}

/// What should be there now: the layout, but with the rates that its classes
/// have, and with jobs' own classes.
KernelDesire as_found(const KernelLayout& layout, const KernelState& observed) {
    KernelDesire desire;
    std::vector<Change> filters;
    const bool has_phases = has_classifier(layout);
    for (const Change& change : layout.set_up) {
        const bool is_filter = std::holds_alternative<AddFilter>(change) ||
                               std::holds_alternative<AddClassifier>(change);
        (is_filter ? filters : desire.build).push_back(change);
    }
    for (const ClassState& state : observed.classes) {
        for (Change& change : desire.build) {
            auto* const one = std::get_if<AddClass>(&change);
            if (one != nullptr && one->classid == state.classid) {
                one->rate = state.rate;
            }
        }
        if (has_phases && is_phase_class(state)) {
            desire.build.emplace_back(AddClass{state.classid, state.rate, state.parent});
        }
    }
    desire.build.insert(desire.build.end(), filters.begin(), filters.end());
    return desire;
}

/// Nothing that paces now stops doing so.
Result<void> adopt(TrafficControl& kernel, const KernelLayout& layout, const KernelState& observed,
                   SetUpReport& report) {
    KernelDesire desire = as_found(layout, observed);
    const auto earlier = classifier_of_run(observed);
    if (earlier && has_classifier(layout)) put_before_classifier(desire.build, *earlier);
    const KernelDiff diff = diff_kernel(desire, observed);
    if (const auto made = kernel.apply(diff.changes, ApplyMode::in_order); !made) {
        return tl::unexpected(made.error().error);
    }
    report.is_adopted = true;
    report.found = observed.classes;
    if (has_classifier(layout)) report.earlier_program = earlier;
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

bool is_module_missing(const Error& error) {
    return error.message.find("qdisc kind is unknown") != std::string::npos;
}

Result<SetUpReport> set_up_kernel(TrafficControl& kernel, const KernelLayout& layout,
                                  BitsPerSecond host_rate) {
    SetUpReport report;
    const auto observed = read_kernel(kernel);
    if (!observed) return tl::unexpected(observed.error());
    if (auto refusal = somebody_elses(observed->root)) return tl::unexpected(std::move(*refusal));
    if (is_ours(observed->root)) {
        if (const auto adopted = adopt(kernel, layout, *observed, report); !adopted) {
            report.not_adopted = adopted.error();
            if (auto cleared = tear_down_kernel(kernel, layout); !cleared) {
                return tl::unexpected(cleared.error());
            }
        }
    }
    if (!report.is_adopted) {
        if (const auto built = kernel.apply(layout.set_up, ApplyMode::in_order); !built) {
            return tl::unexpected(undone(kernel, layout, with_advice(built.error().error)));
        }
    }
    if (const auto fits = check_link_rate(kernel, host_rate, report); !fits) {
        if (report.is_adopted) return tl::unexpected(fits.error());
        return tl::unexpected(undone(kernel, layout, fits.error()));
    }
    return report;
}

Result<bool> tear_down_kernel(TrafficControl& kernel, const KernelLayout& layout) {
    if (const auto found = kernel.find_device(); !found) {
        if (found.error().error_number == ENODEV) return false;
        return tl::unexpected(found.error());
    }
    const auto root = kernel.root_qdisc();
    if (!root) return tl::unexpected(root.error());
    if (!is_ours(*root)) return false;
    const auto removed = kernel.apply_one(layout.tear_down);
    if (!removed) return tl::unexpected(removed.error());
    return true;
}

}  // namespace headway

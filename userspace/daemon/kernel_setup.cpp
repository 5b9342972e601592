// SPDX-License-Identifier: Apache-2.0
#include "daemon/kernel_setup.hpp"

#include <algorithm>
#include <cerrno>

#include "kernel/kernel_diff.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "phase/phase_tables.hpp"

namespace headway {
namespace {

constexpr BitsPerSecond one_queue_drives{10'000'000'000};

/// Adds what an administrator can do about the commonest refusals, which are known by the
/// kernel's words.
Error with_advice(const Error& error) {
    if (is_module_missing(error)) {
        return {error.message + "; the kernel module sch_gap is not loaded and was not found: "
                                "install it for this kernel (modprobe sch_gap must succeed), or let "
                                "the kernel's own means pace ([kernel] backend = \"auto\")",
                error.error_number};
    }
    if (is_of_older_module(error)) {
        return {error.message + "; the module sch_gap that is loaded is older than headwayd: load the "
                                "installed one (rmmod sch_gap, modprobe sch_gap)",
                error.error_number};
    }
    if (error.message.find("Operation not permitted") != std::string::npos) {
        return {error.message + "; headwayd needs root or CAP_NET_ADMIN", error.error_number};
    }
    return error;
}

/// Filters come last.
bool has_classifier(const KernelLayout& layout) {
    return std::holds_alternative<AddClassifier>(layout.set_up.back());
}

/// Returns what should be there now: the layout with the rates that its classes have, and with
/// jobs' own classes.
KernelDesire as_found(const KernelLayout& layout, const KernelState& observed) {
    KernelDesire desire;
    for (Change change : layout.set_up) {
        if (auto* const one = std::get_if<AddClass>(&change)) {
            const auto& classes = observed.classes;
            const auto found = std::ranges::find(classes, one->classid, &ClassState::classid);
            if (found != classes.end()) one->rate = found->rate;
        } else if (std::holds_alternative<AddClassifier>(change)) {
            for (const ClassState& state : observed.classes) {
                if (!is_phase_class(state)) continue;
                desire.build.emplace_back(AddClass{state.classid, state.rate, state.parent});
            }
        }
        desire.build.push_back(std::move(change));
    }
    return desire;
}

/// Adopts what is there: every class that paces goes on pacing.
Result<void> adopt(TrafficControl& kernel, const KernelLayout& layout, const KernelState& observed,
                   SetUpReport& report) {
    KernelDesire desire = as_found(layout, observed);
    const auto earlier = has_classifier(layout) ? classifier_of_run(observed) : std::nullopt;
    if (earlier) put_before_classifier(desire.build, *earlier);
    const KernelDiff diff = diff_kernel(desire, observed);
    if (const auto made = kernel.apply(diff.changes, ApplyMode::in_order); !made) {
        return tl::unexpected(made.error().error);
    }
    report.is_adopted = true;
    report.found = observed.classes;
    report.earlier_program = earlier;
    return {};
}

Result<void> check_link_rate(TrafficControl& kernel, BitsPerSecond host_rate,
                             SetUpReport& report) {
    const auto root = kernel.root_qdisc();
    if (!root) return tl::unexpected(root.error());
    if (!is_ours(*root)) return failure("the kernel does not show the qdisc that was just added");
    report.has_speed = (*root)->link_rate.has_value();
    report.link_rate = (*root)->link_rate.value_or(BytesPerSecond{host_rate.value / 8});
    if (host_rate > report.link_rate.bits()) {
        return failure("host_rate is {}, but the interface drives a link of {}; correct host_rate "
                       "of the node's cluster",
                       rate_to_text(host_rate), rate_to_text(report.link_rate.bits()));
    }
    return {};
}

}  // namespace

/// gap is more exact, but takes one queue for all, which a fast link outruns; fq keeps them, but what is due may leave
/// at once, which needs room.  Without the module a BPF qdisc is the more exact one: packets that wait follow a new
/// rate, and destinations take turns.
std::vector<PacingQdisc> qdiscs_for(PacingQdisc wanted, const Card& card) {
    if (wanted != PacingQdisc::automatic) return {wanted};
    const bool outruns_one_queue = card.tx_queues > 1 && card.link_rate > one_queue_drives;
    if (outruns_one_queue && card.has_bursts) return {PacingQdisc::fq, PacingQdisc::gap};
    return {PacingQdisc::gap, PacingQdisc::bpf, PacingQdisc::fq};
}

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
    Result<void> done;
    if (!report.is_adopted) {
        const auto built = kernel.apply(layout.set_up, ApplyMode::in_order);
        if (!built) done = tl::unexpected(with_advice(built.error().error));
    }
    if (done) done = check_link_rate(kernel, host_rate, report);
    if (done) return report;
    if (report.is_adopted) return tl::unexpected(done.error());
    // Classes and filters live in the qdisc, so deleting it undoes any
    // beginning of the set-up, and cannot itself end halfway.
    const auto removed = tear_down_kernel(kernel, layout);
    if (removed) return tl::unexpected(done.error());
    return system_failure(done.error().error_number, "{}; and undoing it failed: {}",
                          done.error().message, removed.error().message);
}

Result<bool> tear_down_kernel(TrafficControl& kernel, const KernelLayout& layout) {
    if (const auto found = kernel.find_device(); !found) {
        if (found.error().error_number == ENODEV) return false;
        return tl::unexpected(found.error());
    }
    const auto root = kernel.root_qdisc();
    if (!root) return tl::unexpected(root.error());
    if (!is_ours(*root)) return false;
    return kernel.apply_one(layout.tear_down).map([] { return true; });
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "kernel/reconciler.hpp"

#include <algorithm>
#include <set>

namespace headway {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds first_spacing = 20ms;
constexpr std::chrono::nanoseconds longest_spacing = 1s;
/// After so long without a change by somebody else, the next one counts as the first again.
constexpr std::chrono::nanoseconds calm = 10s;

}  // namespace

Reconciler::Reconciler(TrafficControl& kernel, const Clock& clock, DesiredState& desired)
    : kernel_(kernel), clock_(clock), desired_(desired) {}

void Reconciler::notice() {
    const auto now = clock_.now();
    const auto at = last_pass_ ? std::max(now, *last_pass_ + spacing_) : now;
    due_at_ = due_at_ ? std::min(*due_at_, at) : at;
}

KernelDiff Reconciler::run() {
    KernelDiff diff = run_for_own_change();
    count_mending(diff);
    return diff;
}

KernelDiff Reconciler::run_for_own_change() {
    due_at_.reset();
    last_pass_ = clock_.now();
    ++status_.passes;
    status_.error.reset();
    status_.failed.clear();
    KernelDiff diff;
    if (auto done = attempt(diff); !done) {
        status_.error = std::move(done.error());
        desired_.kernel_differs();
    }
    plan_next(diff);
    observer_.ended();
    return diff;
}

/// `diff` is what it found to do, if it came so far.
Result<void> Reconciler::attempt(KernelDiff& diff) {
    if (auto found = kernel_.find_device(); !found) return found;
    const auto observed = read_kernel(kernel_);
    if (!observed) return tl::unexpected(observed.error());
    if (auto refusal = somebody_elses(observed->root)) return tl::unexpected(*refusal);
    observer_.found(*observed);
    diff = diff_kernel(desired_.desired(), *observed);
    if (auto made = make(diff.changes); !made) return made;
    // A qdisc that was just made tells its link's rate when it is asked again.
    const auto root = is_ours(observed->root) ? Result<std::optional<RootQdisc>>(observed->root)
                                              : kernel_.root_qdisc();
    if (!root) return tl::unexpected(root.error());
    desired_.kernel_agrees(*root ? (*root)->link_rate : std::nullopt);
    return {};
}

/// Makes as many of the changes as the kernel takes: a refusal of one object does not keep the
/// others away.
Result<void> Reconciler::make(const std::vector<Change>& changes) {
    if (changes.empty()) return {};
    const auto made = kernel_.apply(changes, ApplyMode::together);
    if (made) return {};
    const std::set<std::size_t> applied(made.error().applied.begin(), made.error().applied.end());
    for (std::size_t i = 0; i < changes.size(); ++i) {
        if (!applied.contains(i)) status_.failed.push_back(change_to_text(changes[i]));
    }
    return tl::unexpected(made.error().error);
}

void Reconciler::count_mending(const KernelDiff& diff) {
    if (diff.changes.empty()) return;
    const auto now = clock_.now();
    ++status_.mended;
    const bool is_first = !last_mending_ || now - *last_mending_ > calm;
    spacing_ = is_first ? 0ns : std::clamp(spacing_ * 2, first_spacing, longest_spacing);
    last_mending_ = now;
}

void Reconciler::plan_next(const KernelDiff& diff) {
    const auto now = clock_.now();
    if (status_.error) {
        due_at_ = now + retry_pause_.next();
        return;
    }
    retry_pause_.reset();
    if (diff.unfinished > 0) due_at_ = now + longest_spacing;
}

}  // namespace headway

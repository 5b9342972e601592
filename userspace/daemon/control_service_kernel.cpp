// SPDX-License-Identifier: Apache-2.0
// What the service wants to be in the kernel, all of it at once.
#include "daemon/control_service.hpp"

#include <algorithm>

#include "daemon/limits.hpp"

namespace headway {
namespace {

/// The layout with the rates that collectives want now.
void set_rates(std::vector<Change>& build, const KernelLayout& layout, const Pacer& pacer) {
    for (Change& change : build) {
        auto* const one = std::get_if<AddClass>(&change);
        if (one == nullptr) continue;
        for (std::size_t i = 0; i < layout.classes.size(); ++i) {
            if (layout.classes[i].classid == one->classid) one->rate = pacer.wanted(i);
        }
    }
}

/// The classes of phases, before the filters that lead to them.
void add_phase_classes(std::vector<Change>& build, const KernelLayout& layout,
                       const PhaseClasses& classes) {
    std::vector<Change> added;
    for (const auto& [trunk_and_rate, entry] : classes.entries()) {
        const auto& [trunk, rate] = trunk_and_rate;
        added.emplace_back(AddClass{entry.classid, rate, layout.classes[trunk].classid});
    }
    auto filters = build.begin();
    while (filters != build.end() && !std::holds_alternative<AddClassifier>(*filters)) ++filters;
    build.insert(filters, added.begin(), added.end());
}

}  // namespace

KernelDesire ControlService::desired() const {
    const std::chrono::nanoseconds linger = planner_.config().policy.linger;
    const KernelLayout layout =
        phases_ ? with_phases(planner_.layout(), program_, linger) : planner_.layout();
    KernelDesire desire{layout.set_up, linger};
    set_rates(desire.build, layout, pacer_);
    if (phases_) add_phase_classes(desire.build, layout, phases_->classes());
    return desire;
}

void ControlService::kernel_agrees(const std::optional<BytesPerSecond>& link_rate) {
    pacer_.confirm();
    if (!link_rate || *link_rate == link_rate_) return;
    link_rate_ = *link_rate;
    if (phases_) phases_->link_changed(link_rate_);
}

void ControlService::kernel_differs() { pacer_.doubt(); }

void ControlService::adopt(const std::vector<ClassState>& found) {
    std::vector<ClassRate> rates;
    for (const ClassLayout& target : planner_.layout().classes) {
        const auto state = std::find_if(found.begin(), found.end(), [&](const ClassState& one) {
            return one.classid == target.classid;
        });
        rates.push_back(state == found.end() ? std::nullopt
                                             : (state->change_pending ? state->next_rate : state->rate));
    }
    pacer_.hold(std::move(rates));
    if (phases_) phases_->adopt(found);
}

void ControlService::release_adopted() { pacer_.release_held(); }

Json ControlService::reconcile_json() const {
    if (reconciled_ == nullptr) return nullptr;
    const auto& failed = reconciled_->failed;
    const auto told = static_cast<std::ptrdiff_t>(std::min(failed.size(), failed_in_status_max));
    return {{"passes", reconciled_->passes},
            {"mended", reconciled_->mended},
            {"error", reconciled_->error ? Json(reconciled_->error->message) : Json(nullptr)},
            {"failed_count", failed.size()},
            {"failed", std::vector<std::string>(failed.begin(), failed.begin() + told)}};
}

bool ControlService::is_in_step() const {
    return !pacer_.retry_at() && (reconciled_ == nullptr || !reconciled_->error);
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// What the service wants to be in the kernel, all of it at once.
#include "daemon/control_service.hpp"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "daemon/limits.hpp"

namespace headway {
namespace {

/// The layout with the rates that collectives want now.
void set_rates(std::vector<Change>& build, const KernelLayout& layout, const Pacer& pacer) {
    std::map<TcHandle, std::size_t> numbers;
    for (const ClassLayout& target : layout.classes) {
        numbers.emplace(target.classid, numbers.size());
    }
    for (Change& change : build) {
        auto* const one = std::get_if<AddClass>(&change);
        if (one == nullptr) continue;
        const auto number = numbers.find(one->classid);
        if (number != numbers.end()) one->rate = pacer.wanted(number->second);
    }
}

std::vector<std::uint16_t> rest_minors(const KernelLayout& layout) {
    std::vector<std::uint16_t> minors;
    for (const ClassLayout& target : layout.classes) {
        minors.push_back(rest_class(target.classid).minor());
    }
    return minors;
}

/// The classes of phases, before the filters that lead to them.
void add_phase_classes(std::vector<Change>& build, const KernelLayout& layout,
                       const PhaseClasses& classes) {
    std::vector<Change> added;
    for (const PhaseClasses::InKernel& one : classes.all()) {
        AddClass wanted{one.classid, one.rate, layout.classes[one.trunk].classid};
        wanted.group = one.group;
        added.emplace_back(wanted);
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
    if (earlier_program_) put_before_classifier(desire.build, *earlier_program_);
    return desire;
}

void ControlService::kernel_agrees(const std::optional<BytesPerSecond>& link_rate) {
    pacer_.confirm();
    if (!link_rate || *link_rate == link_rate_) return;
    link_rate_ = *link_rate;
    if (phases_) phases_->link_changed(link_rate_);
    share_or_retry();
}

void ControlService::kernel_differs() {
    pacer_.doubt();
    release_classifier();  // it may be gone, and only its run could make it anew
}

void ControlService::adopt(const std::vector<ClassState>& found,
                           std::optional<std::uint32_t> earlier_program) {
    if (phases_) earlier_program_ = earlier_program;
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

void ControlService::release_adopted() {
    pacer_.release_held();
    release_classifier();
}

/// From now on our own classifier decides about all packets; the next pass puts
/// it in the place of the other.
void ControlService::release_classifier() {
    if (!earlier_program_) return;
    earlier_program_.reset();
    ++changes_;
    classify_resting(*maps_, rest_minors(planner_.layout()));
}

std::vector<JobHere> ControlService::jobs() const {
    std::map<std::string, std::uint32_t> weights;
    for (const auto& [id, session] : sessions_) {
        if (session.hello && !session.hello->job.empty()) weights.emplace(session.hello->job, 1);
    }
    const auto own = planner_.config().topology.find_host(planner_.node_name());
    for (const auto& [id, job] : jobs_.jobs()) {
        const bool is_here = !job.hosts || (own && job.hosts->contains(*own));
        if (!job.started || !is_here) continue;
        std::uint32_t& weight = weights[job.name];
        weight = std::max(weight, job.weight());
    }
    std::vector<JobHere> jobs;
    for (const auto& [name, weight] : weights) jobs.push_back({name, weight});
    return jobs;
}

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
    return !retry_at() && (reconciled_ == nullptr || !reconciled_->error);
}

}  // namespace headway

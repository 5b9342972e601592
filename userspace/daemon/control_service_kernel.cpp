// SPDX-License-Identifier: Apache-2.0
// What the service wants to be in the kernel, all of it at once.
#include "daemon/control_service.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/limits.hpp"

namespace headway {
namespace {

/// The layout with the rates that collectives want now.
void set_rates(std::vector<Change>& build, const KernelLayout& layout, const Pacer& pacer) {
    std::unordered_map<std::uint32_t, std::size_t> numbers(layout.classes.size());
    for (const ClassLayout& target : layout.classes) {
        numbers.emplace(target.classid.value, numbers.size());
    }
    for (Change& change : build) {
        auto* const one = std::get_if<AddClass>(&change);
        if (one == nullptr) continue;
        const auto number = numbers.find(one->classid.value);
        if (number != numbers.end()) one->rate = pacer.wanted(number->second);
    }
}

/// The tables of rates, and jobs' own classes, before the filters that lead to them.
void add_tables(std::vector<Change>& build, const PhaseTables& tables) {
    for (std::size_t trunk = 0; trunk < tables.trunks().size(); ++trunk) {
        for (Change& change : build) {
            auto* const one = std::get_if<AddClass>(&change);
            if (one == nullptr || one->classid != tables.trunks()[trunk].shared) continue;
            one->table = tables.in_kernel(trunk);
        }
    }
    std::vector<Change> added;
    for (const PhaseTables::OwnClass& one : tables.own_classes()) {
        AddClass wanted{one.classid, std::nullopt, tables.trunks()[one.trunk].trunk};
        if (one.is_in_use) wanted.table = tables.in_kernel(one.trunk);
        added.emplace_back(std::move(wanted));
    }
    auto filters = build.begin();
    while (filters != build.end() && !std::holds_alternative<AddClassifier>(*filters)) ++filters;
    build.insert(filters, added.begin(), added.end());
}

}  // namespace

// ------------------------------------------------------------------------- off and on

/// Jobs keep their phases, and clients what they are in, so that all of it is in force at
/// once when pacing is on again.
void ControlService::set_off(std::optional<PacingOff> off) {
    kept_.set_off(off);
    if (off) release_earlier_program();
    if (phases_) phases_->set_off(off.has_value());
    pacer_.set_off(off.has_value());
}

void ControlService::stay_off(const PacingOff& off) {
    set_off(off);
    pacer_.release_held();
}

Result<Json> ControlService::serve(ControlSession& session, const OffRequest&, Json answer) {
    if (!off()) set_off(PacingOff{static_cast<std::uint64_t>(std::time(nullptr)), session.peer.uid});
    return switched(std::move(answer));
}

Result<Json> ControlService::serve(ControlSession&, const OnRequest&, Json answer) {
    if (off()) set_off(std::nullopt);
    return switched(std::move(answer));
}

/// It is off or on whether or not that could be kept.
Json ControlService::switched(Json answer) {
    const auto kept = kept_.keep_off();
    answer["kept"] = kept.has_value();
    if (!kept) answer["not_kept"] = kept.error().message;
    answer["in_step"] = is_in_step();
    return answer;
}

/// Tells that what was granted is not in force.
void ControlService::tell_off(Json& answer) const {
    if (!off()) return;
    answer["off"] = off_json(*off());
    if (!answer.contains("paced")) return;
    constexpr const char* why = "pacing is switched off on this node (headway off)";
    const Json reason = answer.value("reason", Json());
    answer["paced"] = false;
    answer["reason"] = reason.is_string() ? fmt::format("{}; else: {}", why, reason.get<std::string>()) : why;
    answer.erase("rates");
    if (answer.contains("algorithm")) answer["algorithm"] = nullptr;
}

// ------------------------------------------------------------------- what is desired

KernelDesire ControlService::desired() const {
    KernelDesire desire{phases_ ? with_phases(planner_.layout(), phases_->program()).set_up
                                : planner_.layout().set_up};
    // No packet goes to a class without the filters.  The classifier is told so in its memory.
    if (off()) std::erase_if(desire.build, [](const Change& one) {
        return std::holds_alternative<AddFilter>(one);
    });
    set_rates(desire.build, planner_.layout(), pacer_);
    if (!phases_) return desire;
    add_tables(desire.build, phases_->jobs().tables());
    if (const auto& earlier = phases_->earlier_program()) put_before_classifier(desire.build, *earlier);
    return desire;
}

bool ControlService::paces_nobody() const {
    return off() || (pacer_.active() == 0 && (!phases_ || phases_->jobs().tables().entries().empty()));
}

void ControlService::kernel_agrees(const std::optional<BytesPerSecond>& link_rate) {
    pacer_.confirm();
    if (!link_rate || *link_rate == sharing_.link_rate()) return;
    sharing_.set_link_rate(*link_rate);
    if (phases_) phases_->link_changed(*link_rate);
    sharing_.share_or_retry();
    settle_apart();
}

void ControlService::kernel_differs() {
    kernel_.doubt();
    release_earlier_program();  // it may be gone, and only its run could make it anew
}

void ControlService::adopt(const std::vector<ClassState>& found,
                           std::optional<std::uint32_t> earlier_program) {
    std::vector<ClassRate> rates;
    for (const ClassLayout& target : planner_.layout().classes) {
        const auto state = std::find_if(found.begin(), found.end(), [&](const ClassState& one) {
            return one.classid == target.classid;
        });
        rates.push_back(state == found.end() ? std::nullopt : state->rate);
    }
    pacer_.hold(std::move(rates));
    if (phases_) phases_->adopt(found, earlier_program);
}

void ControlService::release_adopted() {
    pacer_.release_held();
    release_earlier_program();
}

void ControlService::lift_adopted() {
    if (phases_) phases_->jobs().tables().lift_adopted();
}

void ControlService::release_earlier_program() {
    if (phases_) phases_->release_earlier_program();
}

std::vector<JobHere> ControlService::jobs() const {
    std::map<JobIdentity, JobHere> jobs;
    const auto own = planner_.config().topology.find_host(planner_.node_name());
    for (const auto& [id, job] : jobs_.jobs()) {
        const bool is_here = job.hosts ? own && job.hosts->contains(*own) : job.started.has_value();
        if (!is_here) continue;
        JobHere told = jobs_.cluster_job(id);
        JobHere& known = jobs.try_emplace(cluster_identity(told), told).first->second;
        known.weight = std::max(known.weight, told.weight);
        known.is_granted = known.is_granted || told.is_granted;
    }
    std::vector<JobHere> list;
    for (auto& [identity, job] : jobs) list.push_back(std::move(job));
    return list;
}

bool ControlService::is_in_step() const {
    return !retry_at() && status_.is_reconciled();
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "phase/phase_jobs.hpp"

#include <algorithm>

namespace headway {
namespace {

/// As many as one node's jobs can want at a time, by far.
constexpr std::size_t phase_classes_max = 4096;

}  // namespace

PhaseJobs::PhaseJobs(PhaseMaps& maps, TrafficControl& kernel, std::vector<TcHandle> trunks)
    : maps_(maps), classes_(kernel, std::move(trunks), phase_classes_max) {
    for (std::uint32_t number = 0; number < HEADWAY_PHASE_JOBS; ++number) fresh_.insert(number);
}

// ------------------------------------------------------------------- processes

std::size_t PhaseJobs::processes() const {
    std::size_t count = 0;
    for (const auto& [number, job] : jobs_) count += job.slots.size();
    return count;
}

Result<PhaseSeat> PhaseJobs::join(uid_t user, const std::string& name) {
    if (processes() >= HEADWAY_PHASE_PROCESSES) {
        return failure("{} processes of this node have phases, and there may be no more",
                       processes());
    }
    const auto number = job_of(user, name);
    if (!number) return tl::unexpected(number.error());
    Job& job = jobs_.at(*number);
    PhaseSeat seat{*number, 0};
    while (job.slots.contains(seat.slot)) ++seat.slot;
    job.slots.insert(seat.slot);
    add_phase_process(maps_, seat);
    new_generation(*number);
    return seat;
}

void PhaseJobs::leave(const PhaseSeat& seat) {
    const auto job = jobs_.find(seat.job);
    if (job == jobs_.end() || job->second.slots.erase(seat.slot) == 0) return;
    remove_phase_process(maps_, seat);
    if (job->second.slots.empty()) {
        end(seat.job);
    } else {
        new_generation(seat.job);
    }
}

std::uint32_t PhaseJobs::phase_in(const PhaseSeat& seat) { return phase_in_slot(maps_, seat); }

// ------------------------------------------------------------------------ jobs

Result<std::uint32_t> PhaseJobs::job_of(uid_t user, const std::string& name) {
    for (const auto& [number, job] : jobs_) {
        if (job.user == user && job.name == name) return number;
    }
    return begin(user, name);
}

Result<std::uint32_t> PhaseJobs::begin(uid_t user, const std::string& name) {
    if (fresh_.empty()) {
        if (auto renewed = renew(); !renewed) return tl::unexpected(renewed.error());
    }
    if (fresh_.empty()) return failure("there are {} jobs with phases already", jobs_.size());
    const std::uint32_t number = *fresh_.begin();
    fresh_.erase(fresh_.begin());
    Job job;
    job.user = user;
    job.name = name;
    job.phases.emplace_back();
    jobs_.emplace(number, std::move(job));
    begin_phase_job(maps_, number);
    return number;
}

/// Arrays of jobs that ended may still be mapped: others get new ones.  All at
/// once, because the kernel takes its time for it.
Result<void> PhaseJobs::renew() {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t number = 0; number < HEADWAY_PHASE_JOBS; ++number) {
        if (!jobs_.contains(number)) numbers.push_back(number);
    }
    if (numbers.empty()) return {};
    if (auto renewed = maps_.renew(numbers); !renewed) return renewed;
    fresh_.insert(numbers.begin(), numbers.end());
    return {};
}

void PhaseJobs::end(std::uint32_t number) {
    const auto job = jobs_.find(number);
    end_phase_job(maps_, number);
    for (const auto& rates : job->second.phases) release(rates, rates.size());
    jobs_.erase(job);
}

void PhaseJobs::new_generation(std::uint32_t number) {
    Job& job = jobs_.at(number);
    ++job.generation;
    set_phase_generation(maps_, number, job.generation);
}

void PhaseJobs::new_generation_of_all() {
    for (const auto& [number, job] : jobs_) new_generation(number);
}

// ---------------------------------------------------------------------- phases

Result<std::uint32_t> PhaseJobs::phase(std::uint32_t number, const std::vector<ClassRate>& rates) {
    Job& job = jobs_.at(number);
    if (std::none_of(rates.begin(), rates.end(), [](const auto& rate) { return rate.has_value(); })) {
        return 0;
    }
    const auto known = std::find(job.phases.begin(), job.phases.end(), rates);
    if (known != job.phases.end()) return static_cast<std::uint32_t>(known - job.phases.begin());
    if (job.phases.size() >= HEADWAY_PHASES) {
        return failure("a job may have {} phases on a node", HEADWAY_PHASES - 1);
    }
    const auto by_trunk = acquire(rates);
    if (!by_trunk) return tl::unexpected(by_trunk.error());
    job.phases.push_back(rates);
    return add_phase(maps_, number, *by_trunk);
}

Result<std::vector<PhaseRate>> PhaseJobs::acquire(const std::vector<ClassRate>& rates) {
    std::vector<PhaseRate> by_trunk(rates.size());
    for (std::size_t trunk = 0; trunk < rates.size(); ++trunk) {
        if (!rates[trunk]) continue;
        const auto classid = classes_.acquire(trunk, *rates[trunk]);
        if (!classid) {
            release(rates, trunk);
            return tl::unexpected(classid.error());
        }
        by_trunk[trunk] = {rates[trunk]->value, classid->minor()};
    }
    return by_trunk;
}

void PhaseJobs::release(const std::vector<ClassRate>& rates, std::size_t trunks) {
    for (std::size_t trunk = 0; trunk < trunks; ++trunk) {
        if (rates[trunk]) classes_.release(trunk, *rates[trunk]);
    }
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "jobs/phase_service.hpp"

#include <algorithm>
#include <cstddef>

#include <nlohmann/json.hpp>

#include "base/limits.hpp"
#include "jobs/plan_json.hpp"

namespace headway {
namespace {

tl::unexpected<Error> not_joined() {
    return failure("this connection has not joined a job: send \"join\" first");
}

/// The least rate that the phase has anywhere.
ClassRate strictest(const std::vector<ClassRate>& rates) {
    ClassRate least;
    for (const ClassRate& rate : rates) {
        if (rate && (!least || *rate < *least)) least = rate;
    }
    return least;
}

}  // namespace

std::vector<TrunkClasses> PhaseService::trunk_classes(const KernelLayout& layout) {
    std::vector<TrunkClasses> trunks;
    for (const ClassLayout& target : layout.classes) {
        trunks.push_back({target.classid, shared_class(target.classid)});
    }
    return trunks;
}

/// The reconciler's next pass puts our own in its place.
void PhaseService::release_earlier_program() {
    if (!earlier_program_) return;
    earlier_program_.reset();
    ++releases_;
    leave_resting_packets(jobs_.maps(), false);
}

// ------------------------------------------------------------------------ join

Result<Json> PhaseService::join(ControlSession& session, const JoinRequest& request, Json answer) {
    if (!session.peer.is_watched) {
        return failure("the process cannot be watched from here (is it in another pid namespace "
                       "than headwayd?), so its phase might outlive it");
    }
    if (session.seat) {
        if (jobs_.job(session.seat->job).name != request.job) {
            return failure("this connection has joined another job already");
        }
    } else {
        const auto seat = jobs_.join(*session.job);
        if (!seat) return tl::unexpected(seat.error());
        session.seat = *seat;
    }
    answer["map_bytes"] = sizeof(headway_phase_slots);
    answer["slot_offset"] =
        offsetof(headway_phase_slots, phase) + session.seat->slot * sizeof(std::uint32_t);
    answer["generation_offset"] = offsetof(headway_phase_slots, generation);
    answer["slot"] = session.seat->slot;
    answer["generation"] = jobs_.phases_of(session.seat->job).generation;
    return answer;
}

int PhaseService::slots_fd(const ControlSession& session) {
    return session.seat ? jobs_.maps().slots_fd(session.seat->job) : -1;
}

void PhaseService::leave(ControlSession& session) {
    if (session.seat) jobs_.leave(*session.seat);
    session.seat.reset();
}

Result<std::set<std::uint32_t>> PhaseService::restore(
    std::map<std::uint32_t, KeptJob> kept, std::vector<KeptArray> arrays) {
    std::erase_if(arrays, [&](const KeptArray& one) {
        return one.job >= HEADWAY_PHASE_JOBS || !kept.contains(one.job);
    });
    const auto adopted = jobs_.maps().adopt(std::move(arrays));
    if (!adopted) return adopted;
    std::erase_if(kept, [&](const auto& one) { return !adopted->contains(one.first); });
    return jobs_.restore(kept);
}

// ---------------------------------------------------------------------- phases

Result<Json> PhaseService::phase(const ControlSession& session, const PhaseRequest& request,
                                 const NodePlanner& planner, Json answer) {
    if (!session.seat) return not_joined();
    const auto plan = planner.plan(request.hosts, request.message_bytes);
    if (!plan) return tl::unexpected(plan.error());
    if (const auto told = tell_plan(answer, *session.seat, *plan, planner); !told) {
        return tl::unexpected(told.error());
    }
    answer["algorithm"] = algorithm_json(*plan);
    const bool is_as_predicted = plan->predicted && !has_part(session.seat->job);
    answer["predicted"] = is_as_predicted ? prediction_json(*plan->predicted) : Json(nullptr);
    answer["min_message_bytes"] = planner.config().policy.min_message_bytes;
    return answer;
}

Result<Json> PhaseService::traffic(const ControlSession& session, const TrafficRequest& request,
                                   const NodePlanner& planner, Json answer) {
    if (!session.seat) return not_joined();
    const auto plan = planner.plan(request);
    if (!plan) return tl::unexpected(plan.error());
    if (const ClassRate least = strictest(plan->rates); least && is_too_slow(*least)) {
        return too_slow(*least);
    }
    if (const auto told = tell_plan(answer, *session.seat, *plan, planner, request.one_call); !told) {
        return tl::unexpected(told.error());
    }
    if (request.one_call) answer["end_s"] = plan->end_s;
    return answer;
}

/// Adds what every plan's answer has.
Result<void> PhaseService::tell_plan(Json& answer, const PhaseSeat& seat, const NodePlan& plan,
                                     const NodePlanner& planner, bool one_call) {
    const auto number = number_of(seat, plan, one_call);
    if (!number) return tl::unexpected(number.error());
    answer.update(number_json(seat, *number));
    answer["paced"] = plan.paced || *number > 0;
    answer["reason"] = has_part(seat.job) ? plan.reason + "; of that the job's part, because other "
                                                          "jobs share links with it"
                                          : plan.reason;
    if (answer["paced"]) {
        const auto rates = plan.paced ? plan.rates : std::vector<ClassRate>(trunks_);
        answer["rates"] = class_rates_json(planner.config().topology, planner.layout(),
                                           jobs_.shared(seat.job, rates));
    }
    return {};
}

/// A job that has no limit while it is alone gets a phase with its part of the node's link while it
/// has company.
Result<std::uint32_t> PhaseService::number_of(const PhaseSeat& seat, const NodePlan& plan,
                                              bool one_call) {
    if (plan.paced && one_call) return jobs_.phase_of_call(seat, without_idle_limits(plan.rates));
    if (plan.paced) return jobs_.phase(seat.job, without_idle_limits(plan.rates));
    if (!plan.is_uncontended || !has_part(seat.job)) return 0;
    return jobs_.phase(seat.job, std::vector<ClassRate>(trunks_, link_rate_));
}

bool PhaseService::has_part(std::uint32_t job) const {
    return std::ranges::any_of(jobs_.job(job).parts, [](LinkPart part) { return part != LinkPart{}; });
}

/// Returns the least rate of the phase, as the links are shared now.
ClassRate PhaseService::least_of(std::uint32_t job, std::uint32_t number) const {
    return strictest(jobs_.shared(job, jobs_.phases_of(job).rates[number]));
}

/// A phase holds for the whole node.
bool PhaseService::is_too_slow(BytesPerSecond rate) const {
    return rate.value < link_rate_.value / slowest_rate_divisor;
}

tl::unexpected<Error> PhaseService::too_slow(BytesPerSecond rate) const {
    return failure("{} is less than a thousandth of the node's link of {}",
                   rate_to_text(rate.bits()), rate_to_text(link_rate_.bits()));
}

/// The rate is one process's, a class is all of theirs.
Result<Json> PhaseService::rate(const ControlSession& session, const RateRequest& request,
                                Json answer) {
    if (!session.seat) return not_joined();
    std::uint32_t number = 0;
    if (request.bytes_per_s && *request.bytes_per_s < link_rate_.value) {
        const std::uint64_t processes = jobs_.phases_of(session.seat->job).slots.size();
        const BytesPerSecond rate{*request.bytes_per_s * processes};
        if (is_too_slow(rate)) return too_slow(rate);
        std::vector<ClassRate> rates(trunks_, rate);
        rates.front().reset();  // hosts of the own cluster
        const auto phase = jobs_.phase(session.seat->job, without_idle_limits(std::move(rates)));
        if (!phase) return tl::unexpected(phase.error());
        number = *phase;
    }
    answer.update(number_json(*session.seat, number));
    return answer;
}

Json PhaseService::number_json(const PhaseSeat& seat, std::uint32_t number) const {
    return {{"phase", number},
            {"bytes_per_s", rate_json(number == 0 ? ClassRate() : least_of(seat.job, number))},
            {"generation", jobs_.phases_of(seat.job).generation}};
}

/// Drops limits that the link's own rate keeps anyway.
std::vector<ClassRate> PhaseService::without_idle_limits(std::vector<ClassRate> rates) const {
    for (ClassRate& rate : rates) {
        if (rate && *rate >= link_rate_) rate.reset();
    }
    return rates;
}

// --------------------------------------------------------------------- cgroups

/// Chooses the jobs whose phases the classifier keeps apart: none of root's, unless the parts of
/// all that have phases are known, since the strictest of them counts otherwise.  A job without a
/// phase limits nobody.
std::set<std::uint32_t> PhaseService::jobs_to_tell_apart(bool parts_hold) const {
    std::set<std::uint32_t> roots, users;
    bool are_roots_told = parts_hold && jobs_.numbers().size() > 1 && !jobs_.cgroups().is_empty();
    for (const auto& [number, id] : jobs_.numbers()) {
        const Job& job = jobs_.job(number);
        const bool has_phases = job.phases->rates.size() > 1;
        if (job.user != 0) {
            if (has_phases) users.insert(number);
            continue;
        }
        roots.insert(number);
        if (has_phases && !job.hosts) are_roots_told = false;
    }
    if (are_roots_told) users.merge(roots);
    return users;
}

/// Asks again for what the kernel refused, once the jobs have changed.
void PhaseService::settle_apart(bool parts_hold) {
    auto jobs = jobs_to_tell_apart(parts_hold);
    if (jobs == asked_apart_ && jobs_.seat_changes() == asked_for_seats_) return;
    asked_apart_ = std::move(jobs);
    asked_for_seats_ = jobs_.seat_changes();
    if (const auto done = jobs_.tell_apart(asked_apart_); !done) {
        tell_apart_error_(done.error().within("telling jobs apart"));
    }
}

void PhaseService::learn_cgroup(const ControlSession& session) {
    if (!read_cgroup_) return;
    const auto cgroup = read_cgroup_(session.peer);
    if (!cgroup) {
        tell_apart_error_(cgroup.error().within(fmt::format("the cgroup of pid {}", session.peer.pid)));
    } else if (const auto known = jobs_.know_cgroup(*session.seat, *cgroup); !known) {
        tell_apart_error_(known.error());
    }
}

// ---------------------------------------------------------------------- status

void PhaseService::add_phases_json(const JobPhases& phases, Json& entry) const {
    const std::uint32_t number = phases.number;
    entry["generation"] = phases.generation;
    entry["phase_count"] = phases.rates.size() - 1;
    entry["cgroups"] = jobs_.cgroups().of_job(number);
    entry["told_apart"] = jobs_.are_apart() && jobs_.cgroups().of_job(number) > 0;
    Json& list = entry["phases"] = Json::array();
    for (std::uint32_t i = 1; i < phases.rates.size() && i <= phases_in_status_max; ++i) {
        list.push_back({{"phase", i}, {"bytes_per_s", rate_json(least_of(number, i))}});
    }
}

}  // namespace headway

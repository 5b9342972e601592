// SPDX-License-Identifier: Apache-2.0
#include "phase/phase_jobs.hpp"

#include <algorithm>

namespace headway {
namespace {

/// Everywhere at most as much as before; none is no limit.
bool nowhere_laxer(const std::vector<ClassRate>& now, const std::vector<ClassRate>& before) {
    for (std::size_t trunk = 0; trunk < before.size(); ++trunk) {
        if (before[trunk] && (!now[trunk] || *now[trunk] > *before[trunk])) return false;
    }
    return true;
}

}  // namespace

PhaseJobs::PhaseJobs(PhaseMaps& maps, TrafficControl& kernel, std::vector<TrunkClasses> trunks,
                     BytesPerSecond link_rate)
    : maps_(maps),
      tables_(kernel, trunks, link_rate),
      cgroups_(maps),
      link_rate_(link_rate),
      trunk_count_(trunks.size()) {
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
    if (auto room = has_room(user, {0, 1, 0}); !room) return tl::unexpected(room.error());
    const auto number = job_of(user, name);
    if (!number) return tl::unexpected(number.error());
    Job& job = jobs_.at(*number);
    PhaseSeat seat{*number, 0};
    while (job.slots.contains(seat.slot)) ++seat.slot;
    job.slots.insert(seat.slot);
    add_phase_process(maps_, seat);
    new_generation(*number);
    ++seat_changes_;
    job.joined[seat.slot] = job.generation;
    return seat;
}

void PhaseJobs::leave(const PhaseSeat& seat) {
    const auto job = jobs_.find(seat.job);
    if (job == jobs_.end() || job->second.slots.erase(seat.slot) == 0) return;
    remove_phase_process(maps_, seat);
    cgroups_.leave(seat);
    ++seat_changes_;
    job->second.cgroups.erase(seat.slot);
    job->second.joined.erase(seat.slot);
    if (job->second.slots.empty()) {
        end(seat.job);
    } else {
        new_generation(seat.job);
    }
}

// --------------------------------------------------------------------- cgroups

Result<void> PhaseJobs::know_cgroup(const PhaseSeat& seat, std::uint64_t cgroup) {
    jobs_.at(seat.job).cgroups[seat.slot] = cgroup;
    ++changes_;
    ++seat_changes_;
    return cgroups_.join(seat, cgroup);
}

void PhaseJobs::use_classes(std::uint32_t number, const std::vector<TcHandle>& classes) {
    Job& job = jobs_.at(number);
    if (job.classes != classes) ++changes_;
    job.classes = classes;
    std::vector<std::uint16_t> minors;
    for (const TcHandle classid : classes) minors.push_back(classid.minor());
    set_own_classes(maps_, number, minors);
}

Result<void> PhaseJobs::tell_apart(const std::set<std::uint32_t>& jobs) {
    for (const auto& [number, job] : jobs_) {
        if (!jobs.contains(number)) use_classes(number, {});
    }
    const auto done = tell_apart_now(jobs);
    are_apart_ = done && !jobs.empty();
    set_phases_apart(maps_, are_apart_);
    return done;
}

Result<void> PhaseJobs::tell_apart_now(const std::set<std::uint32_t>& jobs) {
    for (const std::uint32_t job : jobs) {
        const auto classes = tables_.give_classes(job);
        if (!classes) return tl::unexpected(classes.error());
        use_classes(job, *classes);
    }
    return settle_users();
}

/// Somewhere a process of it sends of which no cgroup tells whose its packets are.
bool PhaseJobs::is_untold(std::uint32_t number, const Job& job) const {
    return std::any_of(job.slots.begin(), job.slots.end(),
                       [&](std::uint32_t slot) { return !cgroups_.tells({number, slot}); });
}

/// Root needs none: phases of his jobs hold for all.
Result<void> PhaseJobs::settle_users() {
    std::map<uid_t, std::uint32_t> users;
    for (const auto& [number, job] : jobs_) {
        if (job.user != 0 && job.phases.size() > 1 && is_untold(number, job)) {
            users.try_emplace(job.user, number);
        }
    }
    for (const auto& [user, number] : users_) {
        if (!users.contains(user)) maps_.forget_user(user);
    }
    std::erase_if(users_, [&](const auto& one) { return !users.contains(one.first); });
    for (const auto& [user, number] : users) {
        if (const auto known = users_.find(user); known != users_.end() && known->second == number) {
            continue;
        }
        if (auto set = maps_.set_user(user, number); !set) return set;
        users_[user] = number;
    }
    return {};
}

// --------------------------------------------------------------------- restart

bool PhaseJobs::is_possible(const Job& job) const {
    const auto fits = [&](const auto& list) { return list.size() == trunk_count_; };
    return !job.slots.empty() && *job.slots.rbegin() < HEADWAY_PHASE_SLOTS && !job.phases.empty() &&
           job.phases.size() <= HEADWAY_PHASES && (job.parts.empty() || fits(job.parts)) &&
           std::all_of(std::next(job.phases.begin()), job.phases.end(), fits) &&
           processes() + job.slots.size() <= HEADWAY_PHASE_PROCESSES;
}

std::set<std::uint32_t> PhaseJobs::restore(const std::map<std::uint32_t, Job>& kept) {
    std::set<std::uint32_t> restored;
    std::vector<PhaseSeat> seats;
    for (const auto& [number, job] : kept) {
        // whatever comes of it, its array is not another job's
        if (fresh_.erase(number) == 0 || !is_possible(job)) continue;
        if (!restore_phases(number, job)) {
            end(number);
            continue;
        }
        restored.insert(number);
        jobs_.at(number).slots = job.slots;
        for (const std::uint32_t slot : job.slots) seats.push_back({number, slot});
    }
    restore_cgroups(kept, seats);
    for (const std::uint32_t number : restored) restore_classes(number, kept.at(number).classes);
    ++seat_changes_;
    // Which of them is the strictest is known only when all are there.  From here on they
    // count, so each job has its class already: while packets wait in one class and others
    // in another, the job would send at twice its rate.
    add_phase_processes(maps_, seats);
    for (const std::uint32_t number : restored) new_generation(number);
    return restored;
}

/// A job that cannot be told apart now is when tell_apart() is asked next.
void PhaseJobs::restore_classes(std::uint32_t number, const std::vector<TcHandle>& classes) {
    if (classes.empty()) return;
    const auto given = tables_.give_classes(number, classes);
    if (!given || !settle_users()) return;
    use_classes(number, *given);
    are_apart_ = true;
    set_phases_apart(maps_, true);
}

/// One that the kernel does not take is told apart no more, which harms nobody.
void PhaseJobs::restore_cgroups(const std::map<std::uint32_t, Job>& kept,
                                const std::vector<PhaseSeat>& seats) {
    for (const PhaseSeat& seat : seats) {
        const auto& cgroups = kept.at(seat.job).cgroups;
        const auto known = cgroups.find(seat.slot);
        if (known != cgroups.end()) (void)know_cgroup(seat, known->second);
    }
}

/// Which generation named which number last is not known any more: it counts as
/// if the last one had named all, to processes that have been there for ever.
Result<void> PhaseJobs::restore_phases(std::uint32_t number, const Job& kept) {
    Job job;
    job.user = kept.user;
    job.name = kept.name;
    job.generation = kept.generation;
    job.phases.emplace_back();
    job.named.push_back(kept.generation);
    job.parts = kept.parts;
    for (const std::uint32_t slot : kept.slots) job.joined.emplace(slot, 0);
    jobs_.emplace(number, std::move(job));
    begin_phase_job(maps_, number, kept.user);
    for (std::size_t i = 1; i < kept.phases.size(); ++i) {
        const auto by_trunk = acquire(number, kept.phases[i]);
        if (!by_trunk) return tl::unexpected(by_trunk.error());
        jobs_.at(number).phases.push_back(kept.phases[i]);
        jobs_.at(number).named.push_back(kept.generation);
        (void)add_phase(maps_, number, *by_trunk);
    }
    return {};
}

std::uint32_t PhaseJobs::phase_in(const PhaseSeat& seat) { return phase_in_slot(maps_, seat); }

// ------------------------------------------------------------------------ jobs

Result<std::uint32_t> PhaseJobs::job_of(uid_t user, const std::string& name) {
    for (const auto& [number, job] : jobs_) {
        if (job.user == user && job.name == name) return number;
    }
    return begin(user, name);
}

/// For so much more.
Result<void> PhaseJobs::has_room(uid_t user, const Bounds& asked) const {
    if (user == 0) return {};
    Bounds has = asked;
    for (const auto& [number, job] : jobs_) {
        if (job.user != user) continue;
        ++has.jobs;
        has.processes += job.slots.size();
        has.phases += job.phases.size() - 1;
    }
    const auto fits = [&](const char* what, std::size_t wanted, std::size_t most) -> Result<void> {
        if (wanted <= most) return {};
        return failure("user {} has {} {} with phases on this node, and may have no more", user, most, what);
    };
    if (auto done = fits("jobs", has.jobs, most_of_user_.jobs); !done && asked.jobs > 0) return done;
    if (auto done = fits("processes", has.processes, most_of_user_.processes); !done && asked.processes > 0) {
        return done;
    }
    if (asked.phases == 0) return {};
    return fits("rates in jobs", has.phases, most_of_user_.phases);
}

Result<std::uint32_t> PhaseJobs::begin(uid_t user, const std::string& name) {
    if (auto room = has_room(user, {1, 0, 0}); !room) return tl::unexpected(room.error());
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
    job.named.emplace_back();
    jobs_.emplace(number, std::move(job));
    begin_phase_job(maps_, number, user);
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
    set_own_classes(maps_, number, {});
    tables_.take_classes(number);
    for (const auto& rates : job->second.phases) release(number, rates, rates.size());
    jobs_.erase(job);
    ++changes_;
}

void PhaseJobs::new_generation(std::uint32_t number) {
    Job& job = jobs_.at(number);
    ++job.generation;
    ++changes_;
    set_phase_generation(maps_, number, job.generation);
}

void PhaseJobs::new_generation_of_all() {
    for (const auto& [number, job] : jobs_) new_generation(number);
}

// ---------------------------------------------------------------------- phases

Result<std::uint32_t> PhaseJobs::phase(std::uint32_t number, const std::vector<ClassRate>& rates,
                                       bool changes_generation) {
    Job& job = jobs_.at(number);
    if (std::none_of(rates.begin(), rates.end(), [](const auto& rate) { return rate.has_value(); })) {
        return 0;
    }
    const auto known = std::find(job.phases.begin(), job.phases.end(), rates);
    const auto phase = known != job.phases.end()
                           ? Result<std::uint32_t>(static_cast<std::uint32_t>(known - job.phases.begin()))
                           : add(number, rates, changes_generation);
    if (phase) job.named[*phase] = job.generation;
    return phase;
}

Result<std::uint32_t> PhaseJobs::add(std::uint32_t number, const std::vector<ClassRate>& rates,
                                     bool changes_generation) {
    Job& job = jobs_.at(number);
    std::optional<std::uint32_t> reused;
    if (job.phases.size() >= HEADWAY_PHASES) {
        reused = free_phase(number, rates);
        const bool is_named = reused && job.named[*reused] == job.generation;
        if (!reused || (is_named && !changes_generation)) {
            return failure("a job may have {} phases on a node", HEADWAY_PHASES - 1);
        }
        if (is_named) new_generation(number);
    }
    if (auto room = has_room(job.user, {0, 0, reused ? 0U : 1U}); !room) {
        return tl::unexpected(room.error());
    }
    const auto by_trunk = acquire(number, rates);
    if (!by_trunk) return tl::unexpected(by_trunk.error());
    ++changes_;
    if (!reused) {
        job.phases.push_back(rates);
        job.named.push_back(job.generation);
        return add_phase(maps_, number, *by_trunk);
    }
    change_phase(maps_, number, *reused, *by_trunk);
    release(number, job.phases[*reused], rates.size());
    job.phases[*reused] = rates;
    return *reused;
}

/// The one that was named longest ago, even if that is now.
std::optional<std::uint32_t> PhaseJobs::free_phase(std::uint32_t number,
                                                   const std::vector<ClassRate>& rates) {
    const Job& job = jobs_.at(number);
    std::optional<std::uint32_t> oldest;
    for (std::uint32_t phase = 1; phase < job.phases.size(); ++phase) {
        const std::uint32_t named = job.named[phase];
        const bool is_held = std::any_of(job.slots.begin(), job.slots.end(), [&](auto slot) {
            return phase_in_slot(maps_, {number, slot}) == phase;
        });
        const bool is_remembered = std::any_of(job.joined.begin(), job.joined.end(),
                                               [&](const auto& one) { return one.second <= named; });
        if (is_held) continue;
        if (is_remembered && !nowhere_laxer(rates, job.phases[phase])) continue;
        if (!oldest || named < job.named[*oldest]) oldest = phase;
    }
    return oldest;
}

Result<std::vector<PhaseRate>> PhaseJobs::acquire(std::uint32_t number,
                                                  const std::vector<ClassRate>& rates) {
    const auto left = shared(number, rates);
    std::vector<PhaseRate> by_trunk(rates.size());
    for (std::size_t trunk = 0; trunk < rates.size(); ++trunk) {
        if (!left[trunk]) continue;
        const auto entry = tables_.acquire({trunk, number, rates[trunk]}, *left[trunk]);
        if (!entry) {
            release(number, rates, trunk);
            return tl::unexpected(entry.error());
        }
        by_trunk[trunk] = {left[trunk]->value, *entry};
    }
    return by_trunk;
}

void PhaseJobs::release(std::uint32_t number, const std::vector<ClassRate>& rates,
                        std::size_t trunks) {
    const auto left = shared(number, rates);
    for (std::size_t trunk = 0; trunk < trunks; ++trunk) {
        if (left[trunk]) tables_.release({trunk, number, rates[trunk]});
    }
}

// --------------------------------------------------------------------- sharing

ClassRate PhaseJobs::left_of(const ClassRate& rate, const std::vector<LinkPart>& parts,
                             std::size_t trunk) const {
    return parts.empty() ? rate : part_of(rate, parts[trunk], link_rate_);
}

std::vector<ClassRate> PhaseJobs::shared(std::uint32_t number,
                                         const std::vector<ClassRate>& rates) const {
    const std::vector<LinkPart>& parts = jobs_.at(number).parts;
    std::vector<ClassRate> left;
    for (std::size_t i = 0; i < rates.size(); ++i) left.push_back(left_of(rates[i], parts, i));
    return left;
}

/// What share() has to do.
struct PhaseJobs::Reshare {
    std::vector<PhaseTables::RateChange> changes;
    std::vector<PhaseTables::RateChange> added;  ///< limits where there was none; each a user
    std::vector<PhaseTables::Key> removed;       ///< and none where there was one
};

void PhaseJobs::collect(Reshare& work, std::uint32_t number,
                        const std::vector<LinkPart>& parts) const {
    const Job& job = jobs_.at(number);
    std::set<PhaseTables::Key> changed;
    for (std::size_t phase = 1; phase < job.phases.size(); ++phase) {
        const std::vector<ClassRate>& rates = job.phases[phase];
        for (std::size_t trunk = 0; trunk < rates.size(); ++trunk) {
            const PhaseTables::Key key{trunk, number, rates[trunk]};
            const auto entry = tables_.entries().find(key);
            const bool is_new = entry == tables_.entries().end();
            const ClassRate before = is_new ? ClassRate() : entry->second.rate;
            const ClassRate now = left_of(rates[trunk], parts, trunk);
            if (before && !now) work.removed.push_back(key);
            if (!before && now) work.added.push_back({key, *now});
            if (before && now && before != now && changed.insert(key).second) {
                work.changes.push_back({key, *now});
            }
        }
    }
}

Result<void> PhaseJobs::share(const Parts& parts) {
    Reshare work;
    for (const auto& [number, of_job] : parts) collect(work, number, of_job);
    std::size_t made = 0;
    Result<void> done;
    for (; made < work.added.size() && done; ++made) {
        const auto& add = work.added[made];
        if (auto got = tables_.acquire(add.key, add.rate); !got) {
            done = tl::unexpected(got.error());
            break;
        }
    }
    if (done) done = tables_.change_rates(work.changes);
    if (!done) {
        while (made > 0) tables_.release(work.added[--made].key);
        return done;
    }
    finish(work, parts);
    return {};
}

/// The kernel has the entries: now they are what the numbers mean.
void PhaseJobs::finish(const Reshare& work, const Parts& parts) {
    for (const auto& [number, of_job] : parts) {
        Job& job = jobs_.at(number);
        if (of_job == job.parts && !link_rate_changed_) continue;
        job.parts = of_job;
        for (std::uint32_t phase = 1; phase < job.phases.size(); ++phase) {
            const auto left = shared(number, job.phases[phase]);
            std::vector<PhaseRate> by_trunk(left.size());
            for (std::size_t trunk = 0; trunk < left.size(); ++trunk) {
                if (!left[trunk]) continue;
                const auto& entry = tables_.entries().at({trunk, number, job.phases[phase][trunk]});
                by_trunk[trunk] = {left[trunk]->value, entry.number};
            }
            change_phase(maps_, number, phase, by_trunk);
        }
        new_generation(number);
    }
    link_rate_changed_ = false;
    for (const PhaseTables::Key& key : work.removed) tables_.release(key);
}

}  // namespace headway

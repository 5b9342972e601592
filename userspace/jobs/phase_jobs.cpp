// SPDX-License-Identifier: Apache-2.0
#include "jobs/phase_jobs.hpp"

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

bool has_limit(const std::vector<ClassRate>& rates) {
    return std::ranges::any_of(rates, [](const ClassRate& rate) { return rate.has_value(); });
}

/// Some process has it for its single calls, and changes what it means.
bool is_of_calls(const JobPhases& job, std::uint32_t phase) {
    return std::ranges::any_of(job.of_calls, [&](const auto& one) { return one.second == phase; });
}

/// The lasting phase with these rates.
std::optional<std::uint32_t> known_phase(const JobPhases& job,
                                         const std::vector<ClassRate>& rates) {
    for (std::uint32_t phase = 1; phase < job.rates.size(); ++phase) {
        if (job.rates[phase] == rates && !is_of_calls(job, phase)) return phase;
    }
    return std::nullopt;
}

}  // namespace

PhaseJobs::PhaseJobs(JobTable& table, PhaseMaps& maps, TrafficControl& kernel,
                     std::vector<TrunkClasses> trunks, BytesPerSecond link_rate)
    : table_(table),
      maps_(maps),
      tables_(kernel, trunks),
      cgroups_(maps),
      link_rate_(link_rate),
      trunk_count_(trunks.size()) {
    for (std::uint32_t number = 0; number < HEADWAY_PHASE_JOBS; ++number) fresh_.insert(number);
}

// ------------------------------------------------------------------- processes

Result<PhaseSeat> PhaseJobs::join(JobId id) {
    const std::optional<JobPhases>& phases = table_.at(id).phases;
    const uid_t account = table_.at(id).account;
    if (auto taken = of_processes_.take(account); !taken) return tl::unexpected(taken.error());
    if (!phases) {
        if (auto begun = begin(id); !begun) {
            of_processes_.give_back(account);
            return tl::unexpected(begun.error());
        }
    }
    PhaseSeat seat{phases->number, 0};
    while (phases->slots.contains(seat.slot)) ++seat.slot;
    own_phases(seat.job).slots.insert(seat.slot);
    add_phase_process(maps_, seat);
    new_generation(seat.job);
    ++seat_changes_;
    own_phases(seat.job).joined[seat.slot] = phases->generation;
    return seat;
}

void PhaseJobs::leave(const PhaseSeat& seat) {
    if (!numbers_.contains(seat.job) || own_phases(seat.job).slots.erase(seat.slot) == 0) return;
    of_processes_.give_back(job(seat.job).account);
    remove_phase_process(maps_, seat);
    cgroups_.leave(seat);
    ++seat_changes_;
    own_phases(seat.job).cgroups.erase(seat.slot);
    own_phases(seat.job).joined.erase(seat.slot);
    if (const auto own = own_phases(seat.job).of_calls.extract(seat.slot)) {
        own_phases(seat.job).named[own.mapped()] = 0;  // no other process was told of it
    }
    if (phases_of(seat.job).slots.empty()) {
        end(seat.job);
    } else {
        new_generation(seat.job);
    }
}

// --------------------------------------------------------------------- cgroups

Result<void> PhaseJobs::know_cgroup(const PhaseSeat& seat, std::uint64_t cgroup) {
    own_phases(seat.job).cgroups[seat.slot] = cgroup;
    ++changes_;
    ++seat_changes_;
    return cgroups_.join(seat, cgroup);
}

void PhaseJobs::use_classes(std::uint32_t number, const std::vector<TcHandle>& classes) {
    JobPhases& job = own_phases(number);
    if (job.classes != classes) ++changes_;
    job.classes = classes;
    std::vector<std::uint16_t> minors;
    for (const TcHandle classid : classes) minors.push_back(classid.minor());
    set_own_classes(maps_, number, minors);
}

Result<void> PhaseJobs::tell_apart(const std::set<std::uint32_t>& jobs) {
    for (const auto& [number, id] : numbers_) {
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
bool PhaseJobs::is_untold(std::uint32_t number) const {
    return std::ranges::any_of(phases_of(number).slots,
                               [&](std::uint32_t slot) { return !cgroups_.tells({number, slot}); });
}

/// Root needs none: phases of his jobs hold for all.
Result<void> PhaseJobs::settle_users() {
    std::map<uid_t, std::uint32_t> users;
    for (const auto& [number, id] : numbers_) {
        const uid_t user = table_.at(id).user;
        if (user != 0 && phases_of(number).rates.size() > 1 && is_untold(number)) users.try_emplace(user, number);
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

std::map<std::uint32_t, KeptJob> PhaseJobs::kept() const {
    std::map<std::uint32_t, KeptJob> all;
    for (const auto& [number, id] : numbers_) {
        const Job& job = table_.at(id);
        all.emplace(number, KeptJob{*job.phases, job.user, job.name, job.parts});
    }
    return all;
}

bool PhaseJobs::is_possible(const KeptJob& job) const {
    const auto fits = [&](const auto& list) { return list.size() == trunk_count_; };
    return !job.slots.empty() && *job.slots.rbegin() < HEADWAY_PHASE_SLOTS && !job.rates.empty() &&
           job.rates.size() <= HEADWAY_PHASES && (job.parts.empty() || fits(job.parts)) &&
           std::all_of(std::next(job.rates.begin()), job.rates.end(), fits);
}

std::set<std::uint32_t> PhaseJobs::restore(const std::map<std::uint32_t, KeptJob>& kept) {
    std::set<std::uint32_t> restored;
    std::vector<PhaseSeat> seats;
    for (const auto& [number, job] : kept) {
        const uid_t account = table_.accounts().of(job.user);
        // whatever comes of it, its array is not another job's
        if (fresh_.erase(number) == 0 || !is_possible(job) ||
            !of_processes_.take_again(account, job.slots.size())) {
            continue;
        }
        if (!restore_phases(number, job)) {
            of_processes_.give_back(account, job.slots.size());
            const JobId id = numbers_.at(number);
            end(number);
            table_.end_unused(id);
            continue;
        }
        restored.insert(number);
        own_phases(number).slots = job.slots;
        for (const std::uint32_t slot : job.slots) seats.push_back({number, slot});
    }
    restore_cgroups(kept, seats);
    for (const std::uint32_t number : restored) restore_classes(number, kept.at(number).classes);
    ++seat_changes_;
    // Only when all are there is it known which of them is the strictest.  From here on they count,
    // so each job has its class already: while packets wait in one class and others in another, the
    // job would send at twice its rate.
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
void PhaseJobs::restore_cgroups(const std::map<std::uint32_t, KeptJob>& kept,
                                const std::vector<PhaseSeat>& seats) {
    for (const PhaseSeat& seat : seats) {
        const auto& cgroups = kept.at(seat.job).cgroups;
        const auto known = cgroups.find(seat.slot);
        if (known != cgroups.end()) (void)know_cgroup(seat, known->second);
    }
}

/// Nobody knows any more which generation named which number last: it counts as if the last one had
/// named all, to processes that have been there for ever.
Result<void> PhaseJobs::restore_phases(std::uint32_t number, const KeptJob& kept) {
    const JobId id = table_.find_or_begin(kept.user, kept.name);
    table_.at(id).parts = kept.parts;
    JobPhases phases{number, kept.generation, {}, {{}}, {kept.generation}};
    for (const std::uint32_t slot : kept.slots) phases.joined.emplace(slot, 0);
    (void)of_jobs_.take_again(table_.at(id).account, 1);  // there are as many as numbers
    begin_with(id, std::move(phases));
    for (std::size_t i = 1; i < kept.rates.size(); ++i) {
        const auto by_trunk = acquire(number, kept.rates[i]);
        if (!by_trunk) return tl::unexpected(by_trunk.error());
        if (!of_phases_.take_again(table_.at(id).account, 1)) {
            release(number, kept.rates[i], trunk_count_);
            return failure("there are too many rates");
        }
        own_phases(number).rates.push_back(kept.rates[i]);
        own_phases(number).named.push_back(kept.generation);
        (void)add_phase(maps_, number, *by_trunk);
    }
    return {};
}

std::uint32_t PhaseJobs::phase_in(const PhaseSeat& seat) { return phase_in_slot(maps_, seat); }

// ------------------------------------------------------------------------ jobs

Result<void> PhaseJobs::begin(JobId id) {
    if (auto may = of_jobs_.may_take(table_.at(id).account); !may) return may;
    if (fresh_.empty()) {
        if (auto renewed = renew(); !renewed) return renewed;
    }
    if (fresh_.empty()) return failure("there are {} jobs with phases already", numbers_.size());
    if (auto taken = of_jobs_.take(table_.at(id).account); !taken) return taken;
    const std::uint32_t number = *fresh_.begin();
    fresh_.erase(fresh_.begin());
    begin_with(id, {number, 1, {}, {{}}, {0}});
    return {};
}

void PhaseJobs::begin_with(JobId id, JobPhases phases) {
    numbers_.emplace(phases.number, id);
    begin_phase_job(maps_, phases.number, table_.at(id).user);
    table_.at(id).phases = std::move(phases);
}

/// Arrays of jobs that ended may still be mapped: others get new ones.  All at
/// once, because the kernel takes its time for it.
Result<void> PhaseJobs::renew() {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t number = 0; number < HEADWAY_PHASE_JOBS; ++number) {
        if (!numbers_.contains(number)) numbers.push_back(number);
    }
    if (numbers.empty()) return {};
    if (auto renewed = maps_.renew(numbers); !renewed) return renewed;
    fresh_.insert(numbers.begin(), numbers.end());
    return {};
}

void PhaseJobs::end(std::uint32_t number) {
    end_phase_job(maps_, number);
    set_own_classes(maps_, number, {});
    tables_.take_classes(number);
    for (const auto& rates : phases_of(number).rates) release(number, rates, rates.size());
    of_jobs_.give_back(job(number).account);
    of_phases_.give_back(job(number).account, phases_of(number).rates.size() - 1);
    table_.at(numbers_.at(number)).phases.reset();
    numbers_.erase(number);
    ++changes_;
}

void PhaseJobs::new_generation(std::uint32_t number) {
    ++changes_;
    set_phase_generation(maps_, number, ++own_phases(number).generation);
}

void PhaseJobs::new_generation_of_all() {
    for (const auto& [number, id] : numbers_) new_generation(number);
}

// ---------------------------------------------------------------------- phases

Result<std::uint32_t> PhaseJobs::phase(std::uint32_t number, const std::vector<ClassRate>& rates,
                                       bool changes_generation) {
    JobPhases& job = own_phases(number);
    if (!has_limit(rates)) return 0;
    Result<std::uint32_t> phase = known_phase(job, rates).value_or(0);
    if (*phase == 0) {
        const auto reused = find_room(number, rates, changes_generation);
        if (!reused) return tl::unexpected(reused.error());
        phase = add(number, rates, *reused);
    }
    if (phase) job.named[*phase] = job.generation;
    return phase;
}

Result<std::uint32_t> PhaseJobs::phase_of_call(const PhaseSeat& seat,
                                               const std::vector<ClassRate>& rates) {
    JobPhases& job = own_phases(seat.job);
    if (!has_limit(rates)) return 0;
    if (const auto own = job.of_calls.find(seat.slot); own != job.of_calls.end()) {
        return add(seat.job, rates, own->second);
    }
    // the next calls' rates may be any
    const auto reused = find_room(seat.job, std::vector<ClassRate>(trunk_count_), true);
    if (!reused) return tl::unexpected(reused.error());
    const auto phase = add(seat.job, rates, *reused);
    if (phase) job.of_calls[seat.slot] = *phase;
    return phase;
}

/// The number that such rates may have; none: one more.
Result<std::optional<std::uint32_t>> PhaseJobs::find_room(std::uint32_t number,
                                                          const std::vector<ClassRate>& rates,
                                                          bool changes_generation) {
    const JobPhases& job = phases_of(number);
    if (job.rates.size() < HEADWAY_PHASES) return std::nullopt;
    const auto free = free_phase(number, rates);
    const bool is_named = free && job.named[*free] == job.generation;
    if (!free || (is_named && !changes_generation)) {
        return failure("a job may have {} phases on a node", HEADWAY_PHASES - 1);
    }
    if (is_named) new_generation(number);
    return free;
}

Result<std::uint32_t> PhaseJobs::add(std::uint32_t number, const std::vector<ClassRate>& rates,
                                     std::optional<std::uint32_t> reused) {
    JobPhases& job = own_phases(number);
    const uid_t account = this->job(number).account;
    if (auto may = of_phases_.may_take(account, reused ? 0 : 1); !may) return tl::unexpected(may.error());
    const auto by_trunk = acquire(number, rates);
    if (!by_trunk) return tl::unexpected(by_trunk.error());
    ++changes_;
    if (!reused) {
        (void)of_phases_.take(account);
        job.rates.push_back(rates);
        job.named.push_back(job.generation);
        return add_phase(maps_, number, *by_trunk);
    }
    change_phase(maps_, number, *reused, *by_trunk);
    release(number, job.rates[*reused], rates.size());
    job.rates[*reused] = rates;
    return *reused;
}

bool PhaseJobs::is_held(std::uint32_t number, std::uint32_t phase) {
    return std::ranges::any_of(phases_of(number).slots, [&](std::uint32_t slot) {
        return phase_in_slot(maps_, {number, slot}) == phase;
    });
}

/// The one that was named longest ago, even if that is now.
std::optional<std::uint32_t> PhaseJobs::free_phase(std::uint32_t number,
                                                   const std::vector<ClassRate>& rates) {
    const JobPhases& job = phases_of(number);
    std::optional<std::uint32_t> oldest;
    for (std::uint32_t phase = 1; phase < job.rates.size(); ++phase) {
        const std::uint32_t named = job.named[phase];
        const bool is_remembered = std::any_of(job.joined.begin(), job.joined.end(),
                                               [&](const auto& one) { return one.second <= named; });
        if (is_of_calls(job, phase) || is_held(number, phase)) continue;
        if (is_remembered && !nowhere_laxer(rates, job.rates[phase])) continue;
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
    const std::vector<LinkPart>& parts = job(number).parts;
    std::vector<ClassRate> left;
    for (std::size_t i = 0; i < rates.size(); ++i) left.push_back(left_of(rates[i], parts, i));
    return left;
}

/// The changes that share() has to make.
struct PhaseJobs::Reshare {
    std::vector<PhaseTables::RateChange> changes;
    std::vector<PhaseTables::RateChange> added;  ///< limits where there was none; each a user
    std::vector<PhaseTables::Key> removed;       ///< and none where there was one
};

void PhaseJobs::collect(Reshare& work, std::uint32_t number,
                        const std::vector<LinkPart>& parts) const {
    std::set<PhaseTables::Key> changed;
    for (const std::vector<ClassRate>& rates : phases_of(number).rates) {
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

Result<void> PhaseJobs::share(const JobTable::Parts& parts) {
    Reshare work;
    for (const auto& [number, id] : numbers_) collect(work, number, JobTable::parts_of(parts, id));
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
void PhaseJobs::finish(const Reshare& work, const JobTable::Parts& parts) {
    for (const auto& [number, id] : numbers_) {
        Job& job = table_.at(id);
        if (JobTable::parts_of(parts, id) == job.parts && !link_rate_changed_) continue;
        job.parts = JobTable::parts_of(parts, id);
        const auto& rates = job.phases->rates;
        for (std::uint32_t phase = 1; phase < rates.size(); ++phase) {
            const auto left = shared(number, rates[phase]);
            std::vector<PhaseRate> by_trunk(left.size());
            for (std::size_t trunk = 0; trunk < left.size(); ++trunk) {
                if (!left[trunk]) continue;
                const auto& entry = tables_.entries().at({trunk, number, rates[phase][trunk]});
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

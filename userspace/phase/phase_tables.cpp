// SPDX-License-Identifier: Apache-2.0
#include "phase/phase_tables.hpp"

#include <algorithm>

namespace headway {

bool is_phase_class(const ClassState& state) {
    return state.parent.minor() != 0 && state.classid.minor() >= first_phase_minor;
}

PhaseTables::PhaseTables(TrafficControl& kernel, std::vector<TrunkClasses> trunks)
    : kernel_(kernel), trunks_(std::move(trunks)), idle_classes_(trunks_.size()) {}

// --------------------------------------------------------------------- entries

Result<TableEntry> PhaseTables::acquire(const Key& key, BytesPerSecond rate) {
    const auto known = entries_.find(key);
    if (known != entries_.end()) {
        ++known->second.users;
        return known->second.number;
    }
    const auto idle = std::ranges::find_if(
        idle_, [&](const Idle& one) { return one.trunk == key.trunk && one.rate == rate; });
    const auto number = idle != idle_.end() ? Result<TableEntry>(idle->number) : free_number(key.trunk);
    if (!number) return number;
    std::vector<Change> changes;
    append(changes, key.trunk, {{*number, rate}});
    if (auto done = kernel_.apply(changes, ApplyMode::together); !done) {
        return tl::unexpected(std::move(done.error().error));
    }
    std::erase_if(idle_, [&](const Idle& one) { return one.trunk == key.trunk && one.number == *number; });
    entries_.emplace(key, Entry{*number, rate, 1});
    return number;
}

void PhaseTables::release(const Key& key) {
    const auto known = entries_.find(key);
    if (known == entries_.end() || --known->second.users > 0) return;
    idle_.push_back({key.trunk, known->second.number, known->second.rate});
    entries_.erase(known);
    if (entries_.empty()) lift_idle();
}

/// A refusal changes nothing: they limit as before, until the next time.
void PhaseTables::lift_idle() {
    std::vector<RateTable> unlimited(trunks_.size());
    for (const Idle& one : idle_) {
        if (!one.is_adopted) unlimited[one.trunk].emplace(one.number, std::nullopt);
    }
    std::vector<Change> changes;
    for (std::size_t trunk = 0; trunk < trunks_.size(); ++trunk) {
        append(changes, trunk, unlimited[trunk]);
        if (unlimited[trunk].empty()) continue;
        for (const TcHandle idle : idle_classes_[trunk]) {
            changes.emplace_back(ChangeClassTable{idle, unlimited[trunk]});
        }
    }
    if (!kernel_.apply(changes, ApplyMode::together)) return;
    std::erase_if(idle_, [](const Idle& one) { return !one.is_adopted; });
}

void PhaseTables::lift_adopted() {
    const auto is_adopted = [](const Idle& one) { return one.is_adopted; };
    if (std::ranges::none_of(idle_, is_adopted)) return;
    for (Idle& one : idle_) one.is_adopted = false;
    if (entries_.empty()) lift_idle();
}

/// One that was never used, or else the one that has been idle longest: the fewest
/// packets still wait with its number.
Result<TableEntry> PhaseTables::free_number(std::size_t trunk) const {
    const RateTable used = table(trunk);
    for (unsigned number = 1; number <= table_entries_max; ++number) {
        if (!used.contains(static_cast<TableEntry>(number))) return static_cast<TableEntry>(number);
    }
    const auto oldest = std::find_if(idle_.begin(), idle_.end(),
                                     [&](const Idle& one) { return one.trunk == trunk; });
    if (oldest == idle_.end()) {
        return failure("jobs on this node have {} different rates towards the same cluster, and "
                       "there may be no more",
                       table_entries_max);
    }
    return oldest->number;
}

RateTable PhaseTables::table(std::size_t trunk) const {
    RateTable table;
    for (const auto& [key, entry] : entries_) {
        if (key.trunk == trunk) table.emplace(entry.number, entry.rate);
    }
    for (const Idle& one : idle_) {
        if (one.trunk == trunk) table.emplace(one.number, one.rate);
    }
    return table;
}

void PhaseTables::append(std::vector<Change>& changes, std::size_t trunk,
                         const RateTable& table) const {
    if (table.empty()) return;
    const RateTable wanted = unless_off(table);
    changes.emplace_back(ChangeClassTable{trunks_[trunk].shared, wanted});
    for (const auto& [job, classes] : owned_) {
        changes.emplace_back(ChangeClassTable{classes[trunk], wanted});
    }
}

RateTable PhaseTables::unless_off(RateTable table) const {
    for (auto& [number, rate] : table) {
        if (is_off_) rate.reset();
    }
    return table;
}

Result<void> PhaseTables::change_rates(std::span<const RateChange> changes) {
    using Tables = std::vector<RateTable>;
    const std::size_t count = trunks_.size();
    Tables before(count), lowered(count), raised(count);
    for (std::size_t trunk = 0; trunk < count; ++trunk) before[trunk] = table(trunk);
    for (const RateChange& change : changes) {
        const Entry& entry = entries_.at(change.key);
        Tables& tables = change.rate < entry.rate ? lowered : raised;
        tables[change.key.trunk][entry.number] = change.rate;
    }
    // Rates in doubt are told first, and then those that fall: jobs may send at the same time, and
    // must never have more together than before and after.
    std::vector<Change> requests, undo;
    for (const Tables* tables : {&before, &lowered, &raised}) {
        for (std::size_t trunk = 0; trunk < count; ++trunk) append(requests, trunk, (*tables)[trunk]);
    }
    for (std::size_t trunk = 0; trunk < count; ++trunk) append(undo, trunk, before[trunk]);
    if (auto done = kernel_.apply(requests, ApplyMode::together); !done) {
        (void)kernel_.apply(undo, ApplyMode::together);  // what fails is in doubt, until the next time
        return tl::unexpected(std::move(done.error().error));
    }
    for (const RateChange& change : changes) entries_.at(change.key).rate = change.rate;
    return {};
}

// --------------------------------------------------------------------- classes

Result<std::vector<TcHandle>> PhaseTables::give_classes(std::uint32_t job,
                                                        const std::vector<TcHandle>& before) {
    const auto known = owned_.find(job);
    if (known != owned_.end()) return known->second;
    std::vector<TcHandle> classes;
    for (std::size_t trunk = 0; trunk < trunks_.size(); ++trunk) {
        std::set<TcHandle>& idle = idle_classes_[trunk];
        const bool is_there = !idle.empty();
        TcHandle classid = is_there ? *idle.begin() : free_handle();
        if (trunk < before.size() && idle.contains(before[trunk])) classid = before[trunk];
        if (auto made = make_class(trunk, classid, is_there); !made) {
            return tl::unexpected(made.error());  // those before are idle, and serve the next
        }
        idle.insert(classid);
        classes.push_back(classid);
    }
    for (std::size_t trunk = 0; trunk < trunks_.size(); ++trunk) {
        idle_classes_[trunk].erase(classes[trunk]);
    }
    owned_.emplace(job, classes);
    return classes;
}

/// Makes a class with the table that the trunk's other classes have.
Result<void> PhaseTables::make_class(std::size_t trunk, TcHandle classid, bool is_there) {
    const RateTable table = in_kernel(trunk);
    AddClass added{classid, std::nullopt, trunks_[trunk].trunk};
    added.table = table;
    return kernel_.apply_one(is_there ? Change(ChangeClassTable{classid, table}) : Change(std::move(added)));
}

void PhaseTables::take_classes(std::uint32_t job) {
    const auto known = owned_.find(job);
    if (known == owned_.end()) return;
    for (std::size_t trunk = 0; trunk < trunks_.size(); ++trunk) {
        idle_classes_[trunk].insert(known->second[trunk]);
    }
    owned_.erase(known);
}

std::vector<PhaseTables::OwnClass> PhaseTables::own_classes() const {
    std::vector<OwnClass> list;
    for (std::size_t trunk = 0; trunk < trunks_.size(); ++trunk) {
        for (const auto& [job, classes] : owned_) list.push_back({trunk, classes[trunk], true});
        for (const TcHandle classid : idle_classes_[trunk]) list.push_back({trunk, classid, false});
    }
    return list;
}

TcHandle PhaseTables::free_handle() const {
    std::uint16_t minor = first_phase_minor;
    for (const OwnClass& one : own_classes()) minor = std::max(minor, one.classid.minor());
    return tc_handle(trunks_.front().trunk.major(), static_cast<std::uint16_t>(minor + 1));
}

void PhaseTables::adopt(const std::vector<ClassState>& found) {
    for (const ClassState& state : found) {
        for (std::size_t trunk = 0; trunk < trunks_.size(); ++trunk) {
            if (state.classid == trunks_[trunk].shared) {
                for (const auto& [number, rate] : state.table) {
                    if (rate) idle_.push_back({trunk, number, *rate, true});
                }
            }
            if (state.parent == trunks_[trunk].trunk && is_phase_class(state)) {
                idle_classes_[trunk].insert(state.classid);
            }
        }
    }
}

}  // namespace headway

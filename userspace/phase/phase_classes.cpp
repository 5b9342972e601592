// SPDX-License-Identifier: Apache-2.0
#include "phase/phase_classes.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace headway {

bool is_phase_class(const ClassState& state) {
    return state.parent.minor() != 0 && state.rate && state.classid.minor() >= first_phase_minor;
}

PhaseClasses::PhaseClasses(TrafficControl& kernel, std::vector<TcHandle> trunks,
                           std::size_t classes_max)
    : kernel_(kernel),
      trunks_(std::move(trunks)),
      classes_max_(classes_max),
      next_minor_(first_phase_minor) {}

Result<TcHandle> PhaseClasses::acquire(const Key& key, BytesPerSecond rate) {
    const auto known = entries_.find(key);
    if (known != entries_.end()) {
        ++known->second.users;
        return known->second.classid;
    }
    const std::uint32_t group = group_of(key.job);
    const auto idle = idle_.find({key.trunk, rate});
    const auto classid = idle == idle_.end() ? add(key.trunk, rate, group) : take_idle(idle, group);
    if (classid) entries_.emplace(key, Entry{*classid, rate, 1, group});
    return classid;
}

Result<TcHandle> PhaseClasses::take_idle(std::multimap<TrunkAndRate, Idle>::iterator idle,
                                         std::uint32_t group) {
    const TcHandle classid = idle->second.classid;
    if (idle->second.group != group) {
        const Change change = ChangeClassGroup{classid, group};
        if (auto done = kernel_.apply(std::span(&change, 1), ApplyMode::in_order); !done) {
            return tl::unexpected(std::move(done.error().error));
        }
    }
    idle_.erase(idle);
    return classid;
}

std::uint32_t PhaseClasses::group_of(std::uint32_t job) const {
    const auto known = groups_.find(job);
    return known == groups_.end() ? 0 : known->second;
}

Result<void> PhaseClasses::set_groups(std::map<std::uint32_t, std::uint32_t> group_of_job) {
    groups_ = std::move(group_of_job);
    std::vector<Change> asked;
    for (auto& [key, entry] : entries_) {
        const std::uint32_t group = group_of(key.job);
        if (entry.group == group && !groups_are_in_doubt_) continue;
        asked.emplace_back(ChangeClassGroup{entry.classid, group});
        entry.group = group;
    }
    if (asked.empty()) return {};
    auto done = kernel_.apply(asked, ApplyMode::together);
    groups_are_in_doubt_ = !done;
    if (done) return {};
    return tl::unexpected(std::move(done.error().error));
}

void PhaseClasses::release(const Key& key) {
    const auto known = entries_.find(key);
    if (known == entries_.end() || --known->second.users > 0) return;
    idle_.emplace(TrunkAndRate(key.trunk, known->second.rate),
                  Idle{known->second.classid, known->second.group});
    entries_.erase(known);
}

Result<void> PhaseClasses::change_rates(std::span<const RateChange> changes) {
    std::vector<Change> asked, back;
    if (is_in_doubt_) {
        for (const auto& [key, entry] : entries_) {
            asked.emplace_back(ChangeClassRate{entry.classid, entry.rate});
        }
    }
    // First those that become less: jobs may send at the same time, and at no moment
    // are they to have more together than before and after.
    std::vector<RateChange> in_order(changes.begin(), changes.end());
    std::stable_partition(in_order.begin(), in_order.end(), [&](const RateChange& change) {
        return change.rate < entries_.at(change.key).rate;
    });
    for (const RateChange& change : in_order) {
        const Entry& entry = entries_.at(change.key);
        asked.emplace_back(ChangeClassRate{entry.classid, change.rate});
        back.insert(back.begin(), ChangeClassRate{entry.classid, entry.rate});
    }
    if (asked.empty()) return {};
    if (auto done = kernel_.apply(asked, ApplyMode::together); !done) {
        // A change that failed may have been made, if only its acknowledgement was lost.
        is_in_doubt_ = !kernel_.apply(back, ApplyMode::together);
        return tl::unexpected(std::move(done.error().error));
    }
    is_in_doubt_ = false;
    for (const RateChange& change : changes) entries_.at(change.key).rate = change.rate;
    return {};
}

void PhaseClasses::adopt(const std::vector<ClassState>& found) {
    for (const ClassState& state : found) {
        const auto parent = std::find(trunks_.begin(), trunks_.end(), state.parent);
        if (parent == trunks_.end() || !is_phase_class(state)) continue;
        const auto trunk = static_cast<std::size_t>(parent - trunks_.begin());
        if (!is_full()) idle_.emplace(TrunkAndRate(trunk, *state.rate), Idle{state.classid, state.group});
        next_minor_ = std::max(next_minor_, state.classid.minor());
    }
}

std::vector<PhaseClasses::InKernel> PhaseClasses::all() const {
    std::vector<InKernel> list;
    for (const auto& [key, entry] : entries_) {
        list.push_back({key.trunk, entry.classid, entry.rate, entry.group});
    }
    for (const auto& [place, idle] : idle_) {
        list.push_back({place.first, idle.classid, place.second, idle.group});
    }
    return list;
}

Result<TcHandle> PhaseClasses::add(std::size_t trunk, BytesPerSecond rate, std::uint32_t group) {
    if (is_full()) {
        if (auto made = make_room(); !made) return tl::unexpected(made.error());
    }
    const TcHandle classid = free_handle();
    AddClass added_class{classid, rate, trunks_[trunk]};
    added_class.group = group;
    const Change change = added_class;
    if (const auto added = kernel_.apply(std::span(&change, 1), ApplyMode::in_order); !added) {
        return tl::unexpected(added.error().error);
    }
    return classid;
}

/// Removes every class that nobody wants and that holds no packet.
Result<void> PhaseClasses::make_room() {
    const auto states = kernel_.classes();
    if (!states) return tl::unexpected(states.error());
    for (auto idle = idle_.begin(); idle != idle_.end();) {
        const TcHandle classid = idle->second.classid;
        const auto state = std::find_if(states->begin(), states->end(),
                                        [&](const auto& s) { return s.classid == classid; });
        const bool is_empty = state == states->end() || state->backlog_bytes == 0;
        const Change change = DeleteClass{classid};
        const bool goes =
            is_empty && kernel_.apply(std::span(&change, 1), ApplyMode::in_order).has_value();
        idle = goes ? idle_.erase(idle) : std::next(idle);
    }
    if (!is_full()) return {};
    return failure("there are {} classes of phases in use, and there may be no more",
                   entries_.size() + idle_.size());
}

TcHandle PhaseClasses::free_handle() {
    std::set<std::uint16_t> used;
    for (const InKernel& one : all()) used.insert(one.classid.minor());
    do {
        next_minor_ = next_minor_ >= std::numeric_limits<std::uint16_t>::max() - 1
                          ? first_phase_minor
                          : static_cast<std::uint16_t>(next_minor_ + 1);
    } while (used.contains(next_minor_));
    return tc_handle(trunks_.front().major(), next_minor_);
}

}  // namespace headway

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
    const auto idle = idle_.find({key.trunk, rate});
    if (idle == idle_.end()) {
        const auto added = add(key.trunk, rate);
        if (added) entries_.emplace(key, Entry{*added, rate, 1});
        return added;
    }
    const TcHandle classid = idle->second;
    idle_.erase(idle);
    entries_.emplace(key, Entry{classid, rate, 1});
    return classid;
}

void PhaseClasses::release(const Key& key) {
    const auto known = entries_.find(key);
    if (known == entries_.end() || --known->second.users > 0) return;
    idle_.emplace(TrunkAndRate(key.trunk, known->second.rate), known->second.classid);
    entries_.erase(known);
}

Result<void> PhaseClasses::change_rates(std::span<const RateChange> changes) {
    std::vector<Change> asked, back;
    if (is_in_doubt_) {
        for (const auto& [key, entry] : entries_) {
            asked.emplace_back(ChangeClassRate{entry.classid, entry.rate});
        }
    }
    for (const RateChange& change : changes) {
        const Entry& entry = entries_.at(change.key);
        asked.emplace_back(ChangeClassRate{entry.classid, change.rate});
        back.emplace_back(ChangeClassRate{entry.classid, entry.rate});
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
        if (!is_full()) idle_.emplace(TrunkAndRate(trunk, *state.rate), state.classid);
        next_minor_ = std::max(next_minor_, state.classid.minor());
    }
}

std::vector<PhaseClasses::InKernel> PhaseClasses::all() const {
    std::vector<InKernel> list;
    for (const auto& [key, entry] : entries_) list.push_back({key.trunk, entry.classid, entry.rate});
    for (const auto& [place, classid] : idle_) list.push_back({place.first, classid, place.second});
    return list;
}

Result<TcHandle> PhaseClasses::add(std::size_t trunk, BytesPerSecond rate) {
    if (is_full()) {
        if (auto made = make_room(); !made) return tl::unexpected(made.error());
    }
    const TcHandle classid = free_handle();
    const Change change = AddClass{classid, rate, trunks_[trunk]};
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
        const TcHandle classid = idle->second;
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

// SPDX-License-Identifier: Apache-2.0
#include "phase/phase_classes.hpp"

#include <algorithm>
#include <limits>

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

Result<TcHandle> PhaseClasses::acquire(std::size_t trunk, BytesPerSecond rate) {
    const auto known = entries_.find({trunk, rate});
    if (known == entries_.end()) return add(trunk, rate);
    ++known->second.users;
    return known->second.classid;
}

void PhaseClasses::release(std::size_t trunk, BytesPerSecond rate) {
    const auto known = entries_.find({trunk, rate});
    if (known != entries_.end() && known->second.users > 0) --known->second.users;
}

void PhaseClasses::adopt(const std::vector<ClassState>& found) {
    for (const ClassState& state : found) {
        const auto parent = std::find(trunks_.begin(), trunks_.end(), state.parent);
        if (parent == trunks_.end() || !is_phase_class(state)) continue;
        const auto trunk = static_cast<std::size_t>(parent - trunks_.begin());
        if (entries_.size() < classes_max_) {
            entries_.emplace(std::pair(trunk, *state.rate), Entry{state.classid, 0});
        }
        next_minor_ = std::max(next_minor_, state.classid.minor());
    }
}

Result<TcHandle> PhaseClasses::add(std::size_t trunk, BytesPerSecond rate) {
    if (entries_.size() >= classes_max_) {
        if (auto made = make_room(); !made) return tl::unexpected(made.error());
    }
    const TcHandle classid = free_handle();
    const Change change = AddClass{classid, rate, trunks_[trunk]};
    if (const auto added = kernel_.apply(std::span(&change, 1), ApplyMode::in_order); !added) {
        return tl::unexpected(added.error().error);
    }
    entries_.emplace(std::pair(trunk, rate), Entry{classid, 1});
    return classid;
}

/// Removes every class that nobody wants and that holds no packet.
Result<void> PhaseClasses::make_room() {
    const auto states = kernel_.classes();
    if (!states) return tl::unexpected(states.error());
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const TcHandle classid = entry->second.classid;
        const auto state = std::find_if(states->begin(), states->end(),
                                        [&](const auto& s) { return s.classid == classid; });
        const bool is_empty = state == states->end() || state->backlog_bytes == 0;
        const Change change = DeleteClass{classid};
        const bool goes = entry->second.users == 0 && is_empty &&
                          kernel_.apply(std::span(&change, 1), ApplyMode::in_order).has_value();
        entry = goes ? entries_.erase(entry) : std::next(entry);
    }
    if (entries_.size() < classes_max_) return {};
    return failure("there are {} classes of phases in use, and there may be no more",
                   entries_.size());
}

TcHandle PhaseClasses::free_handle() {
    const auto is_used = [&](std::uint16_t minor) {
        return std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) {
            return entry.second.classid.minor() == minor;
        });
    };
    do {
        next_minor_ = next_minor_ >= std::numeric_limits<std::uint16_t>::max() - 1
                          ? first_phase_minor
                          : static_cast<std::uint16_t>(next_minor_ + 1);
    } while (is_used(next_minor_));
    return tc_handle(trunks_.front().major(), next_minor_);
}

}  // namespace headway

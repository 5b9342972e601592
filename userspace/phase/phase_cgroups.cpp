// SPDX-License-Identifier: Apache-2.0
#include "phase/phase_cgroups.hpp"

#include <algorithm>

namespace headway {

Result<void> PhaseCgroups::join(const PhaseSeat& seat, std::uint64_t cgroup) {
    leave(seat);
    seats_.emplace(seat, cgroup);
    return settle(cgroup);
}

void PhaseCgroups::leave(const PhaseSeat& seat) {
    const auto found = seats_.find(seat);
    if (found == seats_.end()) return;
    const std::uint64_t cgroup = found->second;
    seats_.erase(found);
    (void)settle(cgroup);  // who cannot have it now is as well off as before
}

std::map<std::uint64_t, std::set<std::uint32_t>> PhaseCgroups::claims() const {
    std::map<std::uint64_t, std::set<std::uint32_t>> claims;
    for (const auto& [seat, cgroup] : seats_) claims[cgroup].insert(seat.job);
    return claims;
}

/// The cgroup is the job's whose processes are in it, if that is one job.
Result<void> PhaseCgroups::settle(std::uint64_t cgroup) {
    const auto all = claims();
    const auto claim = all.find(cgroup);
    const auto owner = owners_.find(cgroup);
    if (claim == all.end() || claim->second.size() > 1) {
        if (owner == owners_.end()) return {};
        maps_.forget_cgroup(cgroup);
        owners_.erase(owner);
        return {};
    }
    const std::uint32_t job = *claim->second.begin();
    if (owner != owners_.end() && owner->second == job) return {};
    if (auto set = maps_.set_cgroup(cgroup, job); !set) return set;
    owners_[cgroup] = job;
    return {};
}

bool PhaseCgroups::tells(const PhaseSeat& seat) const {
    const auto known = seats_.find(seat);
    if (known == seats_.end()) return false;
    const auto owner = owners_.find(known->second);
    return owner != owners_.end() && owner->second == seat.job;
}

std::size_t PhaseCgroups::of_job(std::uint32_t job) const {
    return static_cast<std::size_t>(std::count_if(
        owners_.begin(), owners_.end(), [&](const auto& one) { return one.second == job; }));
}

std::size_t PhaseCgroups::disputed() const {
    const auto all = claims();
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [](const auto& one) { return one.second.size() > 1; }));
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// Which cgroup's packets are of which job: those in which processes of that job
// have joined, and of no other.
#pragma once

#include <cstdint>
#include <map>

#include "phase/phase_maps.hpp"

namespace headway {

class PhaseCgroups {
public:
    /// `maps` must outlive this object.
    explicit PhaseCgroups(PhaseMaps& maps) : maps_(maps) {}

    /// The process was in this cgroup when it joined.  Fails if the kernel takes no
    /// more: then the cgroup is nobody's.
    [[nodiscard]] Result<void> join(const PhaseSeat& seat, std::uint64_t cgroup);
    void leave(const PhaseSeat& seat);

    /// The process's cgroup tells that its packets are the job's.
    [[nodiscard]] bool tells(const PhaseSeat& seat) const;
    /// Counts the cgroups that are the job's alone.
    [[nodiscard]] std::size_t of_job(std::uint32_t job) const;
    /// Counts the cgroups that several jobs are in; they are nobody's.
    [[nodiscard]] std::size_t disputed() const;
    [[nodiscard]] bool is_empty() const { return owners_.empty(); }

private:
    [[nodiscard]] std::map<std::uint64_t, std::set<std::uint32_t>> claims() const;
    Result<void> settle(std::uint64_t cgroup);

    PhaseMaps& maps_;
    std::map<PhaseSeat, std::uint64_t> seats_;
    std::map<std::uint64_t, std::uint32_t> owners_;  ///< as the kernel has it
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// The memory that the classifier reads, and the order in which headwayd changes
// it.  Every packet may be classified between any two stores, so each order is
// one in which no moment shows a wrong class: what a number stands for is
// written before the number counts, and stops counting before it is reused.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "phase/phase_layout.h"

namespace headway {

/// A process's place: headway_phase_slots::phase[slot] of the job's array.
struct PhaseSeat {
    std::uint32_t job = 0;
    std::uint32_t slot = 0;

    friend auto operator<=>(const PhaseSeat&, const PhaseSeat&) = default;
};

/// A job's array that an earlier run made: what slots_fd() was then.
struct KeptArray {
    std::uint32_t job = 0;
    FileDescriptor fd;
};

/// A phase's rate for one trunk; a trunk without an entry has no limit.
struct PhaseRate {
    std::uint64_t bytes_per_s = 0;
    std::uint8_t entry = 0;  ///< of that rate in the tables of the trunk's classes
};

/// The maps are in the kernel (BpfPhaseMaps), or in a test's memory.
class PhaseMaps {
public:
    virtual ~PhaseMaps() = default;

    [[nodiscard]] virtual headway_phase_config& config() = 0;
    /// The rates of (job, phase): one for each of config().trunk_count trunks.
    [[nodiscard]] virtual std::span<headway_phase_rate> rates(std::uint32_t job,
                                                              std::uint32_t phase) = 0;
    [[nodiscard]] virtual headway_phase_slots& slots(std::uint32_t job) = 0;
    /// A descriptor of the job's array, for its processes.
    [[nodiscard]] virtual int slots_fd(std::uint32_t job) const = 0;

    /// The memory that the next run's classifier goes on with: descriptors by names that begin with
    /// "headway-".
    [[nodiscard]] virtual std::map<std::string, int> memory() const = 0;

    /// Gives these jobs arrays that nobody has seen, all zero.  Their old ones
    /// no longer count.  May block for a grace period of RCU, some 10 ms.
    [[nodiscard]] virtual Result<void> renew(std::span<const std::uint32_t> jobs) = 0;

    /// These jobs get their arrays back, whose contents stay as they are.  The
    /// jobs that have them now: not those whose descriptor is no such array, or
    /// cannot be mapped.  May block as renew() does.
    [[nodiscard]] virtual Result<std::set<std::uint32_t>> adopt(std::vector<KeptArray> kept) = 0;

    /// Packets of sockets of this cgroup are the job's.  Fails if the kernel takes
    /// no more.
    [[nodiscard]] virtual Result<void> set_cgroup(std::uint64_t cgroup, std::uint32_t job) = 0;
    /// They are nobody's.
    virtual void forget_cgroup(std::uint64_t cgroup) = 0;
    /// Packets of the user's sockets of which no cgroup tells the job take this one's
    /// classes, by the strictest phase of all jobs of the user.
    [[nodiscard]] virtual Result<void> set_user(std::uint32_t uid, std::uint32_t job) = 0;
    /// They are nobody's.
    virtual void forget_user(std::uint32_t uid) = 0;
    /// Minor numbers of the job's own classes, by trunk; 0: it has none.
    [[nodiscard]] virtual std::span<std::uint64_t> own_classes(std::uint32_t job) = 0;

protected:
    PhaseMaps() = default;
    PhaseMaps(const PhaseMaps&) = default;
    PhaseMaps& operator=(const PhaseMaps&) = default;
};

/// The process's slot counts from now on; it rests.  There must be room.
void add_phase_process(PhaseMaps& maps, const PhaseSeat& seat);

/// Counts several processes from one moment on, in the phases that their slots hold.
void add_phase_processes(PhaseMaps& maps, std::span<const PhaseSeat> seats);

/// It does not count any more, whatever is written into its slot.
void remove_phase_process(PhaseMaps& maps, const PhaseSeat& seat);

/// Gives the job's next phase a meaning, and lets it count; its number.
[[nodiscard]] std::uint32_t add_phase(PhaseMaps& maps, std::uint32_t job,
                                      std::span<const PhaseRate> by_trunk);

/// Gives a number another meaning.  Whoever is in that phase meanwhile has either
/// the one or the other rate on each trunk, so both entries must be in the kernel.
void change_phase(PhaseMaps& maps, std::uint32_t job, std::uint32_t phase,
                  std::span<const PhaseRate> by_trunk);

/// A job of that user begins, with no phase but rest; or ends, with none at all.  No
/// process of it may count.  Phases of root's jobs hold for all packets that no phase of
/// their own limits, those of other users' for their own only.
void begin_phase_job(PhaseMaps& maps, std::uint32_t job, std::uint32_t uid = 0);
void end_phase_job(PhaseMaps& maps, std::uint32_t job);

/// Packets of the job's cgroups take these classes, by trunk; or, if there are none,
/// those that all jobs share.
void set_own_classes(PhaseMaps& maps, std::uint32_t job, std::span<const std::uint16_t> minors);

/// Whether for packets of a job with classes of its own only its own phases hold: where
/// not, the strictest phase of all holds for all.
void set_phases_apart(PhaseMaps& maps, bool are_apart);

/// Whether packets of no phase are left to the next filter, or classified here.
void leave_resting_packets(PhaseMaps& maps, bool to_next_filter);

/// Whether all packets are left to the next filter, and so to no class: pacing is off.
void set_phases_off(PhaseMaps& maps, bool is_off);

void set_phase_generation(PhaseMaps& maps, std::uint32_t job, std::uint32_t generation);

/// Reads the phase in a process's slot, whether the slot counts or not.
[[nodiscard]] std::uint32_t phase_in_slot(PhaseMaps& maps, const PhaseSeat& seat);

}  // namespace headway

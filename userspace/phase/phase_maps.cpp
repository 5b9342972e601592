// SPDX-License-Identifier: Apache-2.0
#include "phase/phase_maps.hpp"

#include <algorithm>
#include <atomic>

namespace headway {
namespace {

/// Shared with the kernel, and part of it with clients.
std::uint32_t load(std::uint32_t& word) {
    return std::atomic_ref(word).load(std::memory_order_acquire);
}

template <class Word>
void store(Word& word, Word value) {
    std::atomic_ref(word).store(value, std::memory_order_release);
}

/// Both halves at once: the classifier never sees the job of one process with
/// the slot of another.
void store(headway_phase_process& place, headway_phase_process process) {
    using Whole = std::uint64_t __attribute__((may_alias));
    static_assert(sizeof(Whole) == sizeof(process) && alignof(headway_phase_process) == 8);
    __atomic_store_n(reinterpret_cast<Whole*>(&place), *reinterpret_cast<Whole*>(&process),
                     __ATOMIC_RELEASE);
}

}  // namespace

void add_phase_process(PhaseMaps& maps, const PhaseSeat& seat) {
    store(maps.slots(seat.job).phase[seat.slot], 0U);
    add_phase_processes(maps, std::span(&seat, 1));
}

void add_phase_processes(PhaseMaps& maps, std::span<const PhaseSeat> seats) {
    headway_phase_config& config = maps.config();
    std::uint32_t count = config.process_count;
    for (const PhaseSeat& seat : seats) store(config.process[count++], {seat.job, seat.slot});
    store(config.process_count, count);
}

void remove_phase_process(PhaseMaps& maps, const PhaseSeat& seat) {
    headway_phase_config& config = maps.config();
    for (std::uint32_t i = 0; i < config.process_count; ++i) {
        if (config.process[i].job != seat.job || config.process[i].slot != seat.slot) continue;
        // The last one counts twice for a moment, which changes no minimum.
        store(config.process[i], config.process[config.process_count - 1]);
        store(config.process_count, config.process_count - 1);
        break;
    }
    store(maps.slots(seat.job).phase[seat.slot], 0U);
}

void change_phase(PhaseMaps& maps, std::uint32_t job, std::uint32_t phase,
                  std::span<const PhaseRate> by_trunk) {
    const auto rates = maps.rates(job, phase);
    for (std::size_t trunk = 0; trunk < rates.size(); ++trunk) {
        const bool limited = trunk < by_trunk.size() && by_trunk[trunk].entry != 0;
        // without a limit the entry is not looked at
        if (limited) store(rates[trunk].entry, std::uint32_t{by_trunk[trunk].entry});
        store(rates[trunk].bytes_per_s, limited ? by_trunk[trunk].bytes_per_s : ~__u64{0});
    }
}

std::uint32_t add_phase(PhaseMaps& maps, std::uint32_t job, std::span<const PhaseRate> by_trunk) {
    std::uint32_t& count = maps.config().phase_count[job];
    const std::uint32_t phase = count;
    change_phase(maps, job, phase, by_trunk);
    store(count, phase + 1);
    return phase;
}

void begin_phase_job(PhaseMaps& maps, std::uint32_t job, std::uint32_t uid) {
    store(maps.config().uid[job], uid);
    if (uid != 0) store(maps.config().has_users, 1U);
    store(maps.config().phase_count[job], 1U);
}

void end_phase_job(PhaseMaps& maps, std::uint32_t job) {
    store(maps.config().phase_count[job], 0U);
}

void set_phases_apart(PhaseMaps& maps, bool are_apart) {
    store(maps.config().is_apart, are_apart ? 1U : 0U);
}

void set_own_classes(PhaseMaps& maps, std::uint32_t job, std::span<const std::uint16_t> minors) {
    const auto classes = maps.own_classes(job);
    for (std::size_t trunk = 0; trunk < classes.size(); ++trunk) {
        store(classes[trunk], std::uint64_t{minors.empty() ? std::uint16_t{0} : minors[trunk]});
    }
}

void leave_resting_packets(PhaseMaps& maps, bool to_next_filter) {
    store(maps.config().leaves_rest, to_next_filter ? 1U : 0U);
}

void set_phases_off(PhaseMaps& maps, bool is_off) { store(maps.config().is_off, is_off ? 1U : 0U); }

void set_phase_generation(PhaseMaps& maps, std::uint32_t job, std::uint32_t generation) {
    store(maps.slots(job).generation, generation);
}

std::uint32_t phase_in_slot(PhaseMaps& maps, const PhaseSeat& seat) {
    return load(maps.slots(seat.job).phase[seat.slot]);
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "phase/bpf_classes.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace headway {
namespace {

/// All but 0, which is no class's, and those that are in use.
std::deque<std::uint32_t> free_places(std::size_t count, const std::vector<std::uint32_t>& used) {
    std::vector<bool> is_used(count);
    for (const std::uint32_t place : used) is_used[place] = true;
    std::deque<std::uint32_t> free;
    for (std::uint32_t place = 1; place < count; ++place) {
        if (!is_used[place]) free.push_back(place);
    }
    return free;
}

std::uint32_t take_first(std::deque<std::uint32_t>& free) {
    const std::uint32_t first = free.front();
    free.pop_front();
    return first;
}

}  // namespace

BpfClasses::BpfClasses(const ClassTables& tables, std::array<SharedMemory, 3> memory)
    : tables_(tables), memory_(std::move(memory)) {
    std::vector<std::uint32_t> classes, clocks;
    for (const std::uint64_t place : tables_.places) {
        if (place == 0) continue;
        classes.push_back(HEADWAY_BPF_CLASS_OF(place));
        clocks.push_back(HEADWAY_BPF_CLOCK_OF(place));
    }
    free_classes_ = free_places(tables_.classes.size(), classes);
    free_clocks_ = free_places(tables_.clocks.size(), clocks);
}

void BpfClasses::set_place(std::uint16_t minor, std::uint64_t place) {
    __atomic_store_n(&tables_.places[minor], place, __ATOMIC_RELEASE);
}

Result<void> BpfClasses::put(std::uint16_t minor, const headway_bpf_class& wanted) {
    const std::uint64_t before = tables_.places[minor];
    if (free_classes_.empty() || (before == 0 && free_clocks_.empty())) {
        return system_failure(E2BIG, "there is no room for another class");
    }
    const std::uint32_t place = take_first(free_classes_);
    tables_.classes[place] = wanted;
    if (before == 0) {
        const std::uint32_t clock = take_first(free_clocks_);
        tables_.clocks[clock] = {};
        set_place(minor, HEADWAY_BPF_PLACE(place, clock));
    } else {
        set_place(minor, HEADWAY_BPF_PLACE(place, HEADWAY_BPF_CLOCK_OF(before)));
        free_classes_.push_back(HEADWAY_BPF_CLASS_OF(before));
    }
    return {};
}

void BpfClasses::remove(std::uint16_t minor) {
    const std::uint64_t before = tables_.places[minor];
    if (before == 0) return;
    set_place(minor, 0);
    free_classes_.push_back(HEADWAY_BPF_CLASS_OF(before));
    free_clocks_.push_back(HEADWAY_BPF_CLOCK_OF(before));
}

std::optional<headway_bpf_class> BpfClasses::find(std::uint16_t minor) const {
    const std::uint64_t place = tables_.places[minor];
    if (place == 0) return std::nullopt;
    return tables_.classes[HEADWAY_BPF_CLASS_OF(place)];
}

headway_bpf_clock BpfClasses::clock(std::uint16_t minor) const {
    const std::uint64_t place = tables_.places[minor];
    if (place == 0) return {};
    headway_bpf_clock& found = tables_.clocks[HEADWAY_BPF_CLOCK_OF(place)];
    return {__atomic_load_n(&found.next_ticks, __ATOMIC_RELAXED), __atomic_load_n(&found.wire_bytes, __ATOMIC_RELAXED),
            __atomic_load_n(&found.packets, __ATOMIC_RELAXED)};
}

std::vector<std::uint16_t> BpfClasses::minors() const {
    std::vector<std::uint16_t> found;
    for (std::size_t minor = 0; minor < tables_.places.size(); ++minor) {
        if (tables_.places[minor] != 0) found.push_back(static_cast<std::uint16_t>(minor));
    }
    return found;
}

}  // namespace headway

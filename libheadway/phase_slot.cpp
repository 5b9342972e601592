// SPDX-License-Identifier: MIT
#include "phase_slot.hpp"

#include <sys/mman.h>

namespace headway::glue {
namespace {

constexpr std::size_t map_bytes_max = 1 << 20;

bool is_word_of(const SlotPlace& place, std::size_t offset) {
    return offset % sizeof(std::uint32_t) == 0 && offset < place.map_bytes &&
           place.map_bytes - offset >= sizeof(std::uint32_t);
}

}  // namespace

std::optional<PhaseSlot> PhaseSlot::map(const UniqueFd& memory, const SlotPlace& place) {
    if (!memory || place.map_bytes > map_bytes_max || !is_word_of(place, place.slot_offset) ||
        !is_word_of(place, place.generation_offset))
        return std::nullopt;
    void* address = ::mmap(nullptr, place.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                           memory.get(), 0);
    if (address == MAP_FAILED) return std::nullopt;
    return PhaseSlot(static_cast<char*>(address), place);
}

PhaseSlot::~PhaseSlot() {
    if (memory_ == nullptr) return;
    std::uint32_t own = stored_;
    if (own != 0)
        __atomic_compare_exchange_n(word(), &own, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    ::munmap(memory_, place_.map_bytes);
}

/// Of those that limit anything; 0 if none does.
std::uint32_t PhaseSlot::strictest() const {
    const Phase* least = base_.number != 0 ? &base_ : nullptr;
    for (const Entered& one : entered_) {
        if (least == nullptr || one.phase.bytes_per_s < least->bytes_per_s) least = &one.phase;
    }
    return least != nullptr ? least->number : 0;
}

}  // namespace headway::glue

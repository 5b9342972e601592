// SPDX-License-Identifier: MIT
#include "phase_slot.hpp"

#include <sys/mman.h>

#include <algorithm>

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
    store(0);
    ::munmap(memory_, place_.map_bytes);
}

std::uint32_t PhaseSlot::strictest() const {
    return std::min_element(entered_.begin(), entered_.end(),
                            [](const Phase& a, const Phase& b) {
                                return a.bytes_per_s < b.bytes_per_s;
                            })
        ->number;
}

}  // namespace headway::glue

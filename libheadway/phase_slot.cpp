// SPDX-License-Identifier: MIT
#include "phase_slot.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace headway::glue {
namespace {

constexpr std::size_t map_bytes_max = 1 << 20;

bool is_word_of(const SlotPlace& place, std::size_t offset) {
    return offset % sizeof(std::uint32_t) == 0 && offset < place.map_bytes &&
           place.map_bytes - offset >= sizeof(std::uint32_t);
}

/// A load from a page that the file does not have is SIGBUS, whoever has cut it off.  So it is a
/// file that nobody can make shorter, or a BPF map, of which the kernel maps no more than there is.
bool has_for_ever(int file, std::size_t bytes) {
    struct statfs file_system {};
    if (::fstatfs(file, &file_system) != 0) return false;
    if (file_system.f_type == ANON_INODE_FS_MAGIC) return true;
    const int seals = ::fcntl(file, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return false;
    struct stat status {};
    return ::fstat(file, &status) == 0 && status.st_size >= 0 &&
           static_cast<std::size_t>(status.st_size) >= bytes;
}

}  // namespace

std::optional<PhaseSlot> PhaseSlot::map(const UniqueFd& memory, const SlotPlace& place) {
    if (!memory || place.map_bytes > map_bytes_max || !is_word_of(place, place.slot_offset) ||
        !is_word_of(place, place.generation_offset) || !has_for_ever(memory.get(), place.map_bytes))
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

/// Returns the strictest of the phases that limit anything; 0 if none does.
std::uint32_t PhaseSlot::strictest() const {
    const Phase* least = base_.number != 0 ? &base_ : nullptr;
    for (const Entered& one : entered_) {
        if (least == nullptr || one.phase.bytes_per_s < least->bytes_per_s) least = &one.phase;
    }
    return least != nullptr ? least->number : 0;
}

}  // namespace headway::glue

// SPDX-License-Identifier: MIT
// This process's slot in the memory that the kernel's classifier reads: a phase
// is entered with one store, and left with another.
//
// The word means nothing by itself: headwayd says which number stands for which
// rates (Documentation/control-protocol.rst, "join").  Its generation, in the
// same memory, changes when earlier answers do not hold any more.
//
// Not thread safe: the caller serialises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "unique_fd.hpp"

namespace headway::glue {

inline constexpr std::uint64_t no_limit = UINT64_MAX;

/// A number for the slot, and how strict it is beside others.
struct Phase {
    std::uint32_t number = 0;
    std::uint64_t bytes_per_s = no_limit;  ///< the least of its rates
};

/// One of the collectives that a process is in.  They may overlap and end in any
/// order, so each is left by what it was entered as.
using EntryId = std::uint64_t;
inline constexpr EntryId not_entered = 0;

/// The place of the slot, as the daemon says.
struct SlotPlace {
    std::size_t map_bytes = 0;
    std::size_t slot_offset = 0;
    std::size_t generation_offset = 0;
};

class PhaseSlot {
public:
    /// Maps the slot; none if the place makes no sense, or cannot be mapped, or might vanish:
    /// `memory` is a BPF map, or a memfd that is sealed against shrinking.
    [[nodiscard]] static std::optional<PhaseSlot> map(const UniqueFd& memory,
                                                      const SlotPlace& place);

    PhaseSlot(PhaseSlot&& other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)),
          place_(other.place_),
          stored_(other.stored_),
          base_(other.base_),
          entered_(std::move(other.entered_)) {}
    PhaseSlot& operator=(PhaseSlot&& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(place_, other.place_);
        std::swap(stored_, other.stored_);
        std::swap(base_, other.base_);
        std::swap(entered_, other.entered_);
        return *this;
    }
    /// Rests, unless the daemon has given the slot to somebody else already.
    ~PhaseSlot();
    /// It is left as it is from here on; nothing but the destructor may be called.
    void disown() noexcept { stored_ = 0; }

    [[nodiscard]] std::uint32_t generation() const { return load(place_.generation_offset); }

    /// The next packet is sent in this phase, or in a stricter one entered before.
    void enter(EntryId entry, const Phase& phase) {
        entered_.push_back({entry, phase});
        store(strictest());
    }

    /// Leaves the phase; false: it has not been entered here.
    bool leave(EntryId entry) {
        const auto left = std::erase_if(entered_, [=](const Entered& one) { return one.id == entry; });
        if (left == 0) return false;
        store(strictest());
        return true;
    }

    /// The phase beside all that are entered; number 0: none.
    void set_base(const Phase& phase) {
        base_ = phase;
        store(strictest());
    }

private:
    struct Entered {
        EntryId id = not_entered;
        Phase phase;
    };

    PhaseSlot(char* memory, const SlotPlace& place) : memory_(memory), place_(place) {
        entered_.reserve(16);
    }

    [[nodiscard]] std::uint32_t strictest() const;
    [[nodiscard]] std::uint32_t load(std::size_t offset) const {
        return __atomic_load_n(reinterpret_cast<std::uint32_t*>(memory_ + offset),
                               __ATOMIC_ACQUIRE);
    }
    [[nodiscard]] std::uint32_t* word() const {
        return reinterpret_cast<std::uint32_t*>(memory_ + place_.slot_offset);
    }
    void store(std::uint32_t number) {
        stored_ = number;
        __atomic_store_n(word(), number, __ATOMIC_RELEASE);
    }

    char* memory_;
    SlotPlace place_;
    std::uint32_t stored_ = 0;
    Phase base_;
    std::vector<Entered> entered_;  ///< last one last
};

}  // namespace headway::glue

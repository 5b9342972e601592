// SPDX-License-Identifier: Apache-2.0
// A hash table from pairs of numbers to numbers, in one flat array: a copy is
// one memory copy.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace headway {

class PairMap {
public:
    static constexpr std::uint32_t absent = UINT32_MAX;

    /// The number of the pair, or absent.
    [[nodiscard]] std::uint32_t find(std::uint32_t a, std::uint32_t b) const {
        return slots_[slot_of(key_of(a, b))].value;
    }

    /// The pair is not there yet; the value is not `absent`.
    void add(std::uint32_t a, std::uint32_t b, std::uint32_t value) {
        if (2 * ++size_ > slots_.size()) grow();
        put({key_of(a, b), value});
    }

    /// The pair is there.
    void remove(std::uint32_t a, std::uint32_t b) {
        --size_;
        std::size_t hole = slot_of(key_of(a, b));
        // close up, so that no search ends at the hole before it finds its pair
        for (std::size_t at = next(hole); slots_[at].value != absent; at = next(at)) {
            const std::size_t home = home_of(slots_[at].key);
            const bool is_between = hole < at ? hole < home && home <= at : hole < home || home <= at;
            if (!is_between) slots_[std::exchange(hole, at)] = slots_[at];
        }
        slots_[hole] = {};
    }

private:
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t value = absent;
    };

    static std::uint64_t key_of(std::uint32_t a, std::uint32_t b) {
        return std::uint64_t{a} << 32 | b;
    }
    [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

    /// The upper bits of a product with 2^64 / golden ratio depend on all of the key.
    [[nodiscard]] std::size_t home_of(std::uint64_t key) const {
        return key * 0x9E3779B97F4A7C15U >> (64 - std::countr_zero(slots_.size()));
    }

    /// Returns the place where the key is, or would be put.
    [[nodiscard]] std::size_t slot_of(std::uint64_t key) const {
        std::size_t at = home_of(key);
        while (slots_[at].value != absent && slots_[at].key != key) at = next(at);
        return at;
    }

    void put(Slot slot) { slots_[slot_of(slot.key)] = slot; }

    void grow() {
        const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
        for (const Slot& slot : before) {
            if (slot.value != absent) put(slot);
        }
    }

    std::vector<Slot> slots_ = std::vector<Slot>(16);
    std::size_t size_ = 0;
};

}  // namespace headway

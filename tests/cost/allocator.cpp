// SPDX-License-Identifier: Apache-2.0
// Memory at a constant cost.  What malloc() does for a request depends on all that was freed before, so that
// the same request had cost 13 and 15 % more instructions after another program was compiled.  Here a
// block of each power of two is taken from a list of such blocks, or from the end of what there is.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 26;

/// Before each block: in which list it belongs, or, in a list, the next one.
union Head {
    std::size_t power;
    Head* next;
    std::max_align_t aligned;
};

/// The store of one thread, so that there is no lock.
struct Store {
    std::array<Head*, 64> free{};
    std::byte* end = nullptr;
    std::size_t left_bytes = 0;

    Head* take(std::size_t power) {
        if (Head* const head = free[power]) {
            free[power] = head->next;
            return head;
        }
        const std::size_t bytes = std::size_t{1} << power;
        if (bytes > left_bytes) {
            left_bytes = bytes > chunk_bytes ? bytes : chunk_bytes;
            end = static_cast<std::byte*>(std::aligned_alloc(alignof(Head), left_bytes));
            if (end == nullptr) std::abort();
        }
        Head* const head = reinterpret_cast<Head*>(end);
        end += bytes;
        left_bytes -= bytes;
        return head;
    }
};

thread_local Store store;

}  // namespace

void* operator new(std::size_t bytes) {
    const auto power = static_cast<std::size_t>(std::bit_width(bytes + sizeof(Head) - 1));
    Head* const head = store.take(power);
    head->power = power;
    return head + 1;
}

void operator delete(void* block) noexcept {
    if (block == nullptr) return;
    Head* const head = static_cast<Head*>(block) - 1;
    const std::size_t power = head->power;
    head->next = store.free[power];
    store.free[power] = head;
}

void operator delete(void* block, std::size_t) noexcept { operator delete(block); }

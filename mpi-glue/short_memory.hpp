// SPDX-License-Identifier: MIT
// Steps for which there may not be the memory: other ranks wait for this one all the same.  And objects that take none.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <new>

namespace headway::glue {

/// Whether `step` has come to its end.
bool has_memory_for(const auto& step) try {
    step();
    return true;
} catch (const std::exception&) {
    return false;
}

/// Returns what `step` gives.  Where memory is short it tries once more, because the others would
/// wait in vain otherwise.
auto at_second_try(const auto& step) {
    try {
        return step();
    } catch (const std::bad_alloc&) {
        return step();
    }
}

/// The process's one object of a class, made at its first use in a place that takes no allocation, which could fail there.  It is never destroyed: MPI may call
/// back, and threads may still run, after static objects are gone.
template <class Type>
[[nodiscard]] Type& the_only() {
    alignas(Type) static constinit std::array<std::byte, sizeof(Type)> place{};
    static Type* const one = at_second_try([] { return new (place.data()) Type; });
    return *one;
}

}  // namespace headway::glue

// SPDX-License-Identifier: MIT
// The process's one object of a class.
#pragma once

#include <array>
#include <cstddef>
#include <new>

#include "short_memory.hpp"

namespace headway::glue {

/// Made at its first use, in a place that takes no allocation, which could fail there.  It is never destroyed: MPI may call
/// back, and threads may still run, after static objects are gone.
template <class Type>
[[nodiscard]] Type& the_only() {
    alignas(Type) static constinit std::array<std::byte, sizeof(Type)> place{};
    static Type* const one = at_second_try([] { return new (place.data()) Type; });
    return *one;
}

}  // namespace headway::glue

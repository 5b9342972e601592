// SPDX-License-Identifier: MIT
// Steps for which there may not be the memory: other ranks wait for this one all the same.
#pragma once

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

/// What `step` gives; where memory is short it is tried once more, for without it the others would wait in vain.
auto at_second_try(const auto& step) {
    try {
        return step();
    } catch (const std::bad_alloc&) {
        return step();
    }
}

}  // namespace headway::glue

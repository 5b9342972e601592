// SPDX-License-Identifier: MIT
// Wrappers by name, as the preload asks for them (preload.h).
#pragma once

#include <cstring>
#include <span>

#include "preload.h"

#define HEADWAY_EXPORT __attribute__((visibility("default")))

namespace headway::glue {

/// A function, and what runs when the program calls it.
struct Wrapper {
    const char* name;
    headway_function* function;
};

/// Null: none of that name.
inline headway_function* wrapper_among(std::span<const Wrapper> wrappers, const char* name) {
    for (const Wrapper& wrapper : wrappers) {
        if (std::strcmp(wrapper.name, name) == 0) return wrapper.function;
    }
    return nullptr;
}

}  // namespace headway::glue

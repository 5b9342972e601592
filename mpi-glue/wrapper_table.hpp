// SPDX-License-Identifier: MIT
// What the generated wrappers of both kinds of libraries, the one that paces and the one that
// records, have in common: the preload asks for them by name (preload.h).
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

/// Calls of this thread that are inside one another.  A call inside another is not the
/// program's: an MPI library may carry out one function by another that it finds by
/// name, and so finds us.  It is neither paced nor recorded, for the outer one is.
class CallDepth {
public:
    CallDepth() { ++depth(); }
    CallDepth(const CallDepth&) = delete;
    CallDepth& operator=(const CallDepth&) = delete;
    ~CallDepth() { --depth(); }

    [[nodiscard]] bool is_outermost() const { return depth() == 1; }

private:
    [[nodiscard]] static int& depth() {
        static thread_local constinit int depth = 0;
        return depth;
    }
};

}  // namespace headway::glue

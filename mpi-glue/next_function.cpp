// SPDX-License-Identifier: MIT
#include "next_function.hpp"

#include <atomic>
#include <cstdlib>
#include <string>

#include "notice.hpp"

namespace headway::glue {
namespace {

/// The preload's; set before the first wrapper can be called.
std::atomic<headway_find*> find_next{nullptr};

}  // namespace

void find_functions_by(headway_find* find) { find_next = find; }

headway_function* next_symbol(const char* name) {
    headway_find* const find = find_next;
    headway_function* const symbol = find != nullptr ? find(name) : nullptr;
    if (symbol == nullptr) {
        say("the MPI library has no " + std::string(name));
        std::abort();
    }
    return symbol;
}

}  // namespace headway::glue

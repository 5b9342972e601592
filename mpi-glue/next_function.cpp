// SPDX-License-Identifier: MIT
#include "next_function.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "notice.hpp"

namespace headway::glue {

void* next_symbol(const char* name) {
    void* symbol = ::dlsym(RTLD_NEXT, name);
    if (symbol == nullptr) {
        say("the MPI library has no " + std::string(name));
        std::abort();
    }
    return symbol;
}

}  // namespace headway::glue

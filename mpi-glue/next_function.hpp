// SPDX-License-Identifier: MIT
// A program's calls of MPI_X and PMPI_X lead to the preload (Open MPI's Fortran
// layer and parts of MPICH's call the latter), and those of this library would,
// too.  So it reaches the MPI library's own functions past the dynamic linker.
#pragma once

#include "preload.h"

namespace headway::glue {

/// The preload tells how it looks functions up: it stands where "next" means behind
/// it, and knows an MPI library that is not visible from here.
void find_functions_by(headway_find* find);

/// Returns what `name` would be without Headway.  A program that calls a function which its MPI
/// library lacks ends here, as it would have ended in the dynamic linker.
[[nodiscard]] headway_function* next_symbol(const char* name);

template <class Function>
Function next_function(const char* name) {
    return reinterpret_cast<Function>(next_symbol(name));
}

}  // namespace headway::glue

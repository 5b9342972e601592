// SPDX-License-Identifier: MIT
// The library shows both MPI_X and PMPI_X (Open MPI's Fortran layer and parts of
// MPICH's call the latter), so it reaches the MPI library's own functions past
// the dynamic linker.
#pragma once

namespace headway::glue {

/// What `name` means to the libraries loaded after this one.  A program that
/// calls a function which its MPI library lacks ends here, as it would have
/// ended in the dynamic linker.
[[nodiscard]] void* next_symbol(const char* name);

template <class Function>
Function next_function(const char* name) {
    return reinterpret_cast<Function>(next_symbol(name));
}

}  // namespace headway::glue

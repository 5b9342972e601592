// SPDX-License-Identifier: MIT
// The MPI library that this build is for.  HEADWAY_OMPI or HEADWAY_MPICH comes from CMake.
#pragma once

#include <mpi.h>
#ifdef HEADWAY_OMPI
#include <mpi-ext.h>
#endif

namespace headway::glue {

#ifdef HEADWAY_OMPI
inline constexpr bool is_open_mpi = true;
#else
inline constexpr bool is_open_mpi = false;
#endif

}  // namespace headway::glue

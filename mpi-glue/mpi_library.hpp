// SPDX-License-Identifier: MIT
// The MPI library that this build is for: its declarations, and how it names
// itself.  HEADWAY_OMPI or HEADWAY_MPICH comes from CMake.
#pragma once

#include <mpi.h>
#ifdef HEADWAY_OMPI
#include <mpi-ext.h>
#endif

#include <string_view>

namespace headway::glue {

#ifdef HEADWAY_OMPI
inline constexpr bool is_open_mpi = true;
inline constexpr std::string_view library_wanted = "Open MPI v4.1.";  ///< how its name begins
inline constexpr std::string_view library_for_people = "Open MPI 4.1";
#else
inline constexpr bool is_open_mpi = false;
inline constexpr std::string_view library_wanted = "MPICH Version:\t4.0";
inline constexpr std::string_view library_for_people = "MPICH 4.0";
#endif

}  // namespace headway::glue

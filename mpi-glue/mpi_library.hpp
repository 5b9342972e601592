// SPDX-License-Identifier: MIT
// The MPI library that this build is for: HEADWAY_OMPI, HEADWAY_MPICH or HEADWAY_ABI comes from CMake.  The last
// serves every library with the ABI of MPI 5.
#pragma once

#include <mpi.h>
#ifdef HEADWAY_ABI
#include <string_view>
#endif

namespace headway::glue {

/// Says whether the library is Open MPI; what is not is taken for an MPICH, as most others come from that.
#ifdef HEADWAY_ABI
inline bool is_open_mpi() {
    static const bool is = [] {
        char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        int length = 0;
        PMPI_Get_library_version(version, &length);
        return std::string_view(version).starts_with("Open MPI");
    }();
    return is;
}
#elif defined(HEADWAY_OMPI)
constexpr bool is_open_mpi() { return true; }
#else
constexpr bool is_open_mpi() { return false; }
#endif

}  // namespace headway::glue

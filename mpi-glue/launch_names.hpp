// SPDX-License-Identifier: MIT
// Names that the launcher keeps, with no collective of MPI: a rank that takes no part
// delays nobody.  Open MPI: PMIx, of which the process has the library that Open MPI
// itself uses (launch_names_pmix.cpp).  MPICH: MPI_Publish_name, which Hydra carries
// out (launch_names_mpich.cpp).
#pragma once

#include <memory>
#include <string>

#include <tl/expected.hpp>

#include "mpi_library.hpp"
#include "start_agreement.hpp"

namespace headway::glue {

using OpenedNames = tl::expected<std::unique_ptr<LaunchNames>, std::string>;

[[nodiscard]] OpenedNames open_pmix_names();
[[nodiscard]] OpenedNames open_mpich_names();

/// Between MPI_Init and MPI_Finalize.  The reason, where there are none.
[[nodiscard]] inline OpenedNames open_launch_names() {
    return is_open_mpi() ? open_pmix_names() : open_mpich_names();
}

}  // namespace headway::glue

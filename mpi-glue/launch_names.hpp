// SPDX-License-Identifier: MIT
// Names that the launcher keeps, with no collective of MPI: a rank that takes no part
// delays nobody.  Open MPI: PMIx, of which the process has the library that Open MPI
// itself uses (launch_names_pmix.cpp).  MPICH: MPI_Publish_name, which Hydra carries
// out (launch_names_mpich.cpp).
#pragma once

#include <memory>
#include <string>

#include <tl/expected.hpp>

#include "start_agreement.hpp"

namespace headway::glue {

/// Between MPI_Init and MPI_Finalize.  The reason, where there are none.
[[nodiscard]] tl::expected<std::unique_ptr<LaunchNames>, std::string> open_launch_names();

}  // namespace headway::glue

// SPDX-License-Identifier: MIT
// Do all ranks of this job have the library?  By the launcher's names, as
// start_agreement.hpp has it; or because the user says so.
#pragma once

#include <string>

#include "settings.hpp"
#include "start_agreement.hpp"

namespace headway::glue {

struct AllRanks {
    StartOutcome outcome;
    std::string job;  ///< as the launcher calls it; "": it was not asked
};

/// Comes to the same at all ranks, and in a bounded time.  MPI has been initialised.
[[nodiscard]] AllRanks meet_all_ranks(const Settings& settings, int rank, int ranks);

}  // namespace headway::glue

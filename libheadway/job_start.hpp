// SPDX-License-Identifier: MIT
// The number that is drawn once when a job starts and passed to all its nodes, whose
// headwayds know the job by it from an earlier one of the same user and name
// (Documentation/jobs.rst).
#pragma once

#include <cstdint>

#include "environment.hpp"

namespace headway::glue {

inline constexpr const char* job_start_variable = "HEADWAY_JOB_START";
/// Every reader of JSON has a number up to this exactly.
inline constexpr std::uint64_t job_start_max = (std::uint64_t{1} << 53U) - 1;

/// Reads HEADWAY_JOB_START; 0: it is not set, or cannot be understood.
[[nodiscard]] std::uint64_t read_job_start(Complaints& complaints);

/// Draws another number each time; 0 (no start) where the system has no random number at once.
[[nodiscard]] std::uint64_t draw_job_start();

}  // namespace headway::glue

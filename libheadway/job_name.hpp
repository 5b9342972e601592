// SPDX-License-Identifier: MIT
// What a job is called when its processes speak to headwayd (Documentation/jobs.rst).
#pragma once

#include <string>

namespace headway::glue {

/// Names the batch system's allocation and what runs in it: ALLOCATION.STEP under srun,
/// ALLOCATION.LAUNCH for mpirun in an allocation; without one, LAUNCH.  LAUNCH is what Open MPI's
/// mpirun calls the job; MPICH's tells nothing, so there it is this process's host and number, and
/// rank 0's name holds for all.  The name is spelt as the protocol wants it.
[[nodiscard]] std::string job_name(const std::string& host);

/// SLURM_JOB_ID.SLURM_STEP_ID; "" of a process that srun has not started.
[[nodiscard]] std::string slurm_step();

}  // namespace headway::glue

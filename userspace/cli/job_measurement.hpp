// SPDX-License-Identifier: Apache-2.0
// `headway run --measure`: what the network between a job's hosts is, found out before the job
// begins, by agents that the job's own launcher starts in place of its ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace headway {

/// The result of a measurement of a job's network.
struct JobMeasurement {
    std::string network;            ///< the file in which the network is kept; "": none
    std::optional<int> job_status;  ///< that of the job, which has run: no rank became an agent
};

/// Whether this process is a rank that a launcher has started.
[[nodiscard]] bool is_rank();

/// `command`: the launcher's; `library`: the preload by which a rank becomes an agent.  Says on
/// standard error what it does.  Fails, with the launcher ended, if nothing was found out.
[[nodiscard]] Result<JobMeasurement> measure_job(const std::vector<std::string>& command,
                                                 const std::string& library);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// headway planner: plans for one job whose nodes have no daemon (jobs/job_planner.hpp).  The MPI helper of
// rank 0 starts it, with a socket as its standard input; nobody needs to call it.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace headway {

class PlannerCommand final : public Command {
public:
    explicit PlannerCommand(const CommandLine& line);

    /// Until the other end of the socket is closed, or its process has ended.
    [[nodiscard]] ExitStatus run() const override;

private:
    std::string network_;
};

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// `headway job`: start, end and list jobs of this node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/control_options.hpp"

namespace headway {

struct JobOptions {
    ControlOptions control;
    std::string name;
    std::string user;                 ///< name or number; empty: who runs this
    std::vector<std::string> hosts;
    std::uint32_t ranks_per_host = 1;
    std::uint32_t weight = 1;
    std::uint64_t start = 0;          ///< 0: none is told
    std::vector<std::string> pattern;  ///< "alltoall", or files of a traffic matrix
    std::string map_by = "slot";
    bool is_lasting = false;
    bool json = false;
};

class JobsCommand final : public Command {
public:
    explicit JobsCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    void add_job_options(const Verb& one);

    JobOptions options_;
    Verb start_;
    Verb end_;
    Verb list_;
};

}  // namespace headway

// SPDX-License-Identifier: MIT
// Paces a job's point-to-point phases by a recording of an earlier run, the file
// HEADWAY_PATTERN: the profiling run that Takano et al. name.  In each phase
// (MPI_Pcontrol's level, 0 before the first) a process holds what headwayd plans
// for all that the recording shows the hosts of the job to send one another.
//
// Messages that are smaller than those that are paced, on the average of two ranks,
// are left out.  A host that sends nothing to other hosts has no limit.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "session.hpp"

namespace headway::glue {

class PatternPlayer {
public:
    /// Collective over MPI_COMM_WORLD, once the hosts are known.  What is wrong
    /// with the file, or "".
    [[nodiscard]] std::string begin(const std::string& file);

    void enter_phase(int level) noexcept;

private:
    [[nodiscard]] std::string read(std::string text, std::uint64_t min_message_bytes);

    std::mutex mutex_;
    std::map<int, std::shared_ptr<HeldRates>> rates_of_phase_;
    std::shared_ptr<HeldRates> in_force_;
};

/// See the_only(), short_memory.hpp.
[[nodiscard]] PatternPlayer& pattern_player();

}  // namespace headway::glue

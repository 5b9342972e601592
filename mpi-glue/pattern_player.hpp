// SPDX-License-Identifier: MIT
// Paces a job's point-to-point phases by a recording of an earlier run, the file
// HEADWAY_PATTERN.  In each phase (MPI_Pcontrol's level, 0 before the first) a
// process may send to other clusters at HEADWAY_MAXRATE divided by the number of
// hosts of its cluster that the recording shows sending to other clusters in that
// phase: Takano's MATB, from a profiling run.  A host that does not has no limit.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace headway::glue {

class PatternPlayer {
public:
    /// Collective over MPI_COMM_WORLD, once the hosts are known.  What is wrong
    /// with the file, or "".
    [[nodiscard]] std::string begin(const std::string& file);

    void enter_phase(int level) noexcept;

private:
    [[nodiscard]] std::string read(std::string_view text);

    std::mutex mutex_;
    /// Hosts of the own cluster that send; 0: this one does not.
    std::map<int, std::uint64_t> senders_of_phase_;
    std::optional<std::uint64_t> in_force_;
};

/// The process's one; never destroyed, as helper().
[[nodiscard]] PatternPlayer& pattern_player();

}  // namespace headway::glue

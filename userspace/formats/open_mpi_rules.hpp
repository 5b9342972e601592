// SPDX-License-Identifier: Apache-2.0
// The file of dynamic rules of Open MPI's coll/tuned: which algorithm runs an
// all-to-all, by the communicator's size and by how much a process sends.
//
//   mpirun --mca coll_tuned_use_dynamic_rules 1
//          --mca coll_tuned_dynamic_rules_filename FILE ...
//
// A rule holds from its size on up to that of the next, the last without end.
// The classic form, which Open MPI 4 and 5 read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace headway {

/// Numbers of coll_tuned_alltoall_algorithm.
enum class OpenMpiAlltoall : std::uint8_t {
    library_decides = 0,
    linear = 1,
    pairwise = 2,
    modified_bruck = 3,
    linear_sync = 4,
    two_processes = 5,
};

struct OpenMpiMessageRule {
    /// From one process to all, at least: Open MPI counts the message to one
    /// other process times the number of processes.
    std::uint64_t sent_bytes = 0;
    OpenMpiAlltoall algorithm = OpenMpiAlltoall::library_decides;
};

struct OpenMpiCommunicatorRule {
    std::uint32_t processes = 0;  ///< at least
    std::vector<OpenMpiMessageRule> messages;
};

/// Fails unless sizes rise and every communicator's first message size is 0,
/// which Open MPI insists on.
[[nodiscard]] Result<std::string> write_open_mpi_alltoall_rules(
    std::span<const OpenMpiCommunicatorRule> rules);

}  // namespace headway

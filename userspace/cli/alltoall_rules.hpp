// SPDX-License-Identifier: Apache-2.0
// Which of Open MPI's algorithms an all-to-all should run, by message size, as
// its file of rules; see formats/open_mpi_rules.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/model_progress.hpp"
#include "cli/network_options.hpp"

namespace headway {

/// Rules without a size are made for these two and the powers of two between them.
inline constexpr std::uint64_t rules_least_bytes = 1024;
inline constexpr std::uint64_t rules_most_bytes = 4 << 20;

struct AlltoallRules {
    std::string text;
    /// Sizes for which the best algorithm is none that Open MPI has.
    std::uint32_t replaced = 0;
};

/// Writes rules that choose, of Open MPI's linear and pairwise, the algorithm that ends first as
/// planned; they hold for a communicator of all these ranks only.  A size stands for all up to its
/// double, the largest without a size for all above.  Fails for one rank.
[[nodiscard]] Result<AlltoallRules> make_alltoall_rules(
    const ChosenPattern& pattern, std::uint32_t ranks_per_host,
    std::optional<std::uint64_t> message_bytes,
    const ModelProgress& progress);

}  // namespace headway

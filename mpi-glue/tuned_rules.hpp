// SPDX-License-Identifier: MIT
// A decision file for Open MPI's coll/tuned component: which all-to-all
// algorithm runs for which communicator and message size.
//
// A rate that holds for the whole collective fits an algorithm that keeps every
// pair of ranks busy all the time: the linear one, which posts all receives and
// sends at once.  Under a blocking pairwise exchange only some of the nodes
// cross the trunk in each step, while all are held to the rate for all of them:
// it takes about twice the time.
//
// From 2048 bytes per pair up, every algorithm that Open MPI 4.1 picks by itself
// (linear, linear with sync, pairwise, two processes) exchanges exactly one
// message per pair and direction with the same tag, as the linear one does; only
// Bruck's, which it uses below, does not.  So a rank that for some reason did not
// get these rules still works together with ranks that did.  That is why the
// limit is not lower, and not a parameter.
#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

#include "unique_fd.hpp"

namespace headway::glue {

inline constexpr std::uint64_t linear_from_bytes = 2048;  ///< per pair of ranks

/// The file's text.  Smaller messages keep Open MPI's own choice.  The same for
/// all jobs: two that join (MPI_Comm_spawn, MPI_Comm_connect) must agree.
[[nodiscard]] std::string tuned_rules_text();

/// The text as a file in memory: nothing to clean up, nowhere to run out of
/// space, no name to clash with another job's.
[[nodiscard]] tl::expected<UniqueFd, std::string> tuned_rules_file(const std::string& text);

/// The name by which this process can open it.
[[nodiscard]] std::string tuned_rules_path(const UniqueFd& file);

}  // namespace headway::glue

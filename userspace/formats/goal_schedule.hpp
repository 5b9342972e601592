// SPDX-License-Identifier: Apache-2.0
// GOAL schedules, the text that LogGOPSim's txt2bin reads, as PlogPT programs.
//
//   num_ranks 2
//   rank 0 {
//   l1: calc 100
//   l2: send 1000b to 1 tag 3
//   l2 requires l1
//   }
//   rank 1 {
//   l1: recv 1000b from 0 tag 3
//   }
//
// Comments are // to the end of the line and /* ... */.  A schedule says what
// depends on what, a program does one thing after the other: operations are put
// into an order that keeps all dependencies, Waits as late as it allows, and in
// doubt the file's.
//
// Limits: calc takes no time in PlogPT (it only keeps its dependencies), cpu and
// nic are not looked at, and `recv from -1` is refused.
#pragma once

#include <string_view>

#include "formats/program_builder.hpp"

namespace headway {

[[nodiscard]] FileResult<ProgramFile> read_goal_schedule(std::string_view text,
                                                         std::string_view file,
                                                         const ProgramLimits& limits = {});

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// Programs for PlogPT in files: a GOAL schedule (.goal), or SimGrid's
// time-independent trace, one file for all ranks or one for each (any other name).
#pragma once

#include <string>
#include <vector>

#include "base/file_error.hpp"
#include "models/plogpt_program.hpp"

namespace headway {

struct LoadedProgram {
    PlogptListedPrograms programs;
    std::uint64_t computations = 0;  ///< left out: they take no time in PlogPT
};

/// At least one file.
[[nodiscard]] FileResult<LoadedProgram> load_program(const std::vector<std::string>& files);

}  // namespace headway

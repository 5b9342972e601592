// SPDX-License-Identifier: Apache-2.0
// The lines of a file as Slurm's own parser takes them.
//
//   Key=Value Key = "a value with blanks"    keys in any case
//   Nodes=n[1-2],\                           a backslash at the end joins the next line as it is
//   n5                                       to this one
//   # a comment; \# is a character, \\ a backslash
//   Include racks.conf                       beside the file that says so
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/file_mistakes.hpp"
#include "formats/slurm_topology.hpp"

namespace headway {

struct SlurmLine {
    std::string file;
    std::uint32_t number = 0;  ///< of its first line in the file
    std::vector<std::pair<std::string, std::string>> pairs;
};

/// Reads the lines of the file and of those that it includes, each where it stands, and adds what
/// is wrong to the mistakes. `advice` says what a line looks like.
[[nodiscard]] std::vector<SlurmLine> read_slurm_lines(std::string_view text, std::string_view file,
                                                      const ReadFile& read_file,
                                                      std::string_view advice,
                                                      FileMistakes& mistakes);

[[nodiscard]] bool is_same_word(std::string_view a,
                                std::string_view b);  ///< without regard to case

}  // namespace headway

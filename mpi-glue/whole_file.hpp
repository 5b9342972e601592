// SPDX-License-Identifier: MIT
// Writing a file for the user, from a process that is not ours.
#pragma once

#include <string>

namespace headway::glue {

/// Why it could not be written, or "".  A file that is there is replaced whole or not at all.
[[nodiscard]] std::string write_whole(const std::string& path, const std::string& text);

}  // namespace headway::glue

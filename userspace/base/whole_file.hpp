// SPDX-License-Identifier: Apache-2.0
// Writing a file for the user, perhaps from a process that is not ours.
#pragma once

#include <string>
#include <string_view>

namespace headway {

/// Why it could not be written, or "".  A file that is there is replaced whole or not at all, also
/// where several processes write it at a time.
[[nodiscard]] std::string write_whole(const std::string& path, std::string_view text);

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
// Which shared libraries a program says it needs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headway {

/// The DT_NEEDED names of a 64-bit ELF file of this machine's byte order, as they
/// stand there; empty of anything else, whatever its bytes are.
[[nodiscard]] std::vector<std::string> elf_needed(const std::filesystem::path& file);

}  // namespace headway

// SPDX-License-Identifier: MIT
// Reading HEADWAY_* environment variables.  A value that is not understood leaves
// its target as it is and is complained of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headway::glue {

/// None: it is not set, or empty.
[[nodiscard]] std::optional<std::string_view> environment_value(const char* name);

/// One sentence for each value that was not understood.
using Complaints = std::vector<std::string>;

void read_switch(const char* name, bool& target, Complaints& complaints);
void read_number(const char* name, int least, int most, int& target, Complaints& complaints);
void read_number(const char* name, std::uint64_t least, std::uint64_t most, std::uint64_t& target,
                 Complaints& complaints);
/// One of two words, of which `second` switches `target` on.
void read_word(const char* name, const char* first, const char* second, bool& target,
               Complaints& complaints);

}  // namespace headway::glue

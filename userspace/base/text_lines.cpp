// SPDX-License-Identifier: Apache-2.0
#include "base/text_lines.hpp"

#include <fmt/format.h>

namespace headway {

std::string counted(std::uint64_t number, std::string_view thing) {
    if (number == 1) return fmt::format("1 {}", thing);
    return fmt::format("{} {}{}", number, thing, thing.ends_with("ch") || thing.ends_with("s") ? "es" : "s");
}

std::string in_quotes(std::string_view text) {
    constexpr std::size_t shown_max_bytes = 60;
    std::string shown = "\"";
    for (const char c : text.substr(0, shown_max_bytes)) {
        shown += c >= ' ' && c <= '~' ? c : '?';
    }
    shown += text.size() > shown_max_bytes ? "...\"" : "\"";
    return shown;
}

}  // namespace headway

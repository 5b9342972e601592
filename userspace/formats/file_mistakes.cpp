// SPDX-License-Identifier: Apache-2.0
#include "formats/file_mistakes.hpp"

#include <algorithm>
#include <tuple>

#include "base/hostlist.hpp"

namespace headway {

void FileMistakes::add(std::uint32_t line, std::string_view key, std::string reason,
                       std::string advice) {
    if (full()) return;
    if (errors_.size() == mistakes_max) {
        errors_.push_back({file_, line, "", "there are more mistakes", "mend these first"});
        return;
    }
    errors_.push_back({file_, line, std::string(key), std::move(reason), std::move(advice)});
}

tl::unexpected<std::vector<FileError>> FileMistakes::take() {
    std::stable_sort(errors_.begin(), errors_.end(), [](const auto& a, const auto& b) {
        return std::tie(a.file, a.line) < std::tie(b.file, b.line);
    });
    return tl::unexpected(std::move(errors_));
}

bool is_plain_name(std::string_view name) { return is_plain_name(name, host_name_max_bytes); }

}  // namespace headway

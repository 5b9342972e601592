// SPDX-License-Identifier: Apache-2.0
// What the readers of other programs' formats have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_error.hpp"

namespace headway {

/// One of several files that are read together.
struct NamedText {
    std::string file;
    std::string_view text;
};

/// Collects the mistakes of a file, or of several that belong together.  A reader goes on
/// after a mistake to find the next, but not for ever: beyond mistakes_max only a last one
/// says so.
class FileMistakes {
public:
    static constexpr std::size_t mistakes_max = 100;

    explicit FileMistakes(std::string_view file) : file_(file) {}

    /// Mistakes that are added from now on are of another file.
    void set_file(std::string_view file) { file_ = file; }
    void add(std::uint32_t line, std::string_view key, std::string reason, std::string advice);
    [[nodiscard]] bool empty() const { return errors_.empty(); }
    [[nodiscard]] bool full() const { return errors_.size() > mistakes_max; }

    /// By file and line.
    [[nodiscard]] tl::unexpected<std::vector<FileError>> take();

private:
    std::string file_;
    std::vector<FileError> errors_;
};

/// Says whether every format can use the name: 1 to 253 letters, digits, '.', '-', '_'.
[[nodiscard]] bool is_plain_name(std::string_view name);

}  // namespace headway

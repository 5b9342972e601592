// SPDX-License-Identifier: Apache-2.0
// What is wrong with a file, for the person who has to mend it, and the reading
// of whole files of bounded size.  Every reader of this folder takes a text and
// the name of its file and gives a value or all the mistakes that it found,
// whatever the bytes are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace headway {

/// One thing wrong with a file, told as `file:line: key: reason; what to do`.
struct FileError {
    std::string file;
    std::uint32_t line = 0;  ///< 0: the file as a whole
    std::string key;
    std::string reason;
    std::string advice;

    [[nodiscard]] std::string to_string() const;
};

template <class Value>
using FileResult = tl::expected<Value, std::vector<FileError>>;

/// Collects the mistakes of a file, or of several that belong together.  A reader goes on after a mistake to find
/// the next, but not for ever: beyond mistakes_max only a last one says so.
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

inline constexpr std::size_t config_file_max_bytes = 4 << 20;
inline constexpr std::size_t data_file_max_bytes = 256 << 20;

/// The bytes of a file.  Fails if there are more than that many.
[[nodiscard]] FileResult<std::string> read_text_file(const std::filesystem::path& file,
                                                     std::size_t max_bytes);

/// What a name may look like to be used in every format: 1 to 253 letters,
/// digits, '.', '-', '_'.
[[nodiscard]] bool is_plain_name(std::string_view name);
[[nodiscard]] bool is_plain_name(std::string_view name, std::size_t max_bytes);

}  // namespace headway

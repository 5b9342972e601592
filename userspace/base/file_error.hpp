// SPDX-License-Identifier: Apache-2.0
// What is wrong with a file, for the person who has to mend it, and the reading
// of whole files of bounded size.  Every reader of a format takes a text and
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

inline constexpr std::size_t config_file_max_bytes = 4 << 20;
inline constexpr std::size_t data_file_max_bytes = 256 << 20;

/// The bytes of a file, without the byte order mark that some editors put in front.  Fails if there
/// are more than that many, and if it is no text.
[[nodiscard]] FileResult<std::string> read_text_file(const std::filesystem::path& file,
                                                     std::size_t max_bytes);

/// Whether a name is 1 to `max_bytes` letters, digits, '.', '-', '_'.
[[nodiscard]] bool is_plain_name(std::string_view name, std::size_t max_bytes);

}  // namespace headway

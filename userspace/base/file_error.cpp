// SPDX-License-Identifier: Apache-2.0
#include "base/file_error.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/core.h>

namespace headway {

std::string FileError::to_string() const {
    std::string text = file;
    if (line > 0) text += fmt::format(":{}", line);
    if (!key.empty()) text += fmt::format(": {}", key);
    text += fmt::format(": {}", reason);
    if (!advice.empty()) text += fmt::format("; {}", advice);
    return text;
}

namespace {

/// Letters of any character set are text, control characters but for blanks are none.
bool is_no_text(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < ' ' && std::string_view("\t\n\v\f\r").find(c) == std::string_view::npos;
}

}  // namespace

FileResult<std::string> read_text_file(const std::filesystem::path& file, std::size_t max_bytes) {
    const auto unreadable = [&](std::string reason, std::string advice) {
        return tl::unexpected(std::vector<FileError>{
            {file.string(), 0, "", std::move(reason), std::move(advice)}});
    };
    std::error_code status_error;
    if (std::filesystem::is_directory(file, status_error)) {
        return unreadable("it is a directory", "name the file itself");
    }
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
        return unreadable(fmt::format("cannot be opened: {}", std::strerror(errno)),
                          "name a readable file");
    }
    constexpr std::size_t piece_bytes = 1 << 20;
    std::string text;
    while (stream && text.size() <= max_bytes) {
        const std::size_t had = text.size();
        text.resize(had + piece_bytes);
        stream.read(text.data() + had, piece_bytes);
        text.resize(had + static_cast<std::size_t>(stream.gcount()));
    }
    if (stream.bad()) return unreadable("cannot be read", "check the disk");
    if (text.size() > max_bytes) {
        return unreadable(fmt::format("it is larger than {} MiB", max_bytes >> 20),
                          "use host ranges such as \"a[0-999]\", or split it");
    }
    if (const auto odd = std::ranges::find_if(text, is_no_text); odd != text.end()) {
        const auto line = 1 + std::count(text.begin(), odd, '\n');
        return tl::unexpected(std::vector<FileError>{{file.string(), static_cast<std::uint32_t>(line), "",
                                                      fmt::format("it is no text: it has a byte 0x{:02x}", *odd),
                                                      "name a text file, neither packed nor a picture"}});
    }
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
    return text;
}

bool is_plain_name(std::string_view name, std::size_t max_bytes) {
    return !name.empty() && name.size() <= max_bytes &&
           std::ranges::all_of(name, [](unsigned char c) {
               return std::isalnum(c) || c == '.' || c == '-' || c == '_';
           });
}

}  // namespace headway

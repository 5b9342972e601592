// SPDX-License-Identifier: MIT
#include "notice.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <exception>

namespace headway::glue {

namespace {

/// `line` has room for "headway: TEXT" and what ends it.
void write_line(char* line, std::string_view text) {
    constexpr std::string_view who = "headway: ";
    char* end = std::copy(who.begin(), who.end(), line);
    end = std::transform(text.begin(), text.end(), end,
                         [](unsigned char c) { return c < 0x20 || c == 0x7f ? '?' : static_cast<char>(c); });
    *end++ = '\n';
    // If even this fails, nothing can be done.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, static_cast<std::size_t>(end - line));
}

constexpr std::size_t around_text_bytes = 10;

}  // namespace

void say(std::string_view text) noexcept try {
    write_line(std::string(text.size() + around_text_bytes, '\0').data(), text);
} catch (const std::exception&) {
    constexpr std::size_t kept_bytes = 500;
    std::array<char, kept_bytes + around_text_bytes> line{};
    write_line(line.data(), text.substr(0, kept_bytes));
}

void OncePerNode::say(const std::string& text) {
    if (silent_) return;
    silent_ = true;
    if (first_on_node()) glue::say(text);
}

bool OncePerNode::first_on_node() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    // A name that begins with a zero byte is not in the file system.
    const std::string name = std::string(1, '\0') + "headway-notice-" + job_;
    const std::size_t length = std::min(name.size(), sizeof(address.sun_path));
    std::copy_n(name.begin(), length, address.sun_path);
    right_to_speak_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!right_to_speak_) return true;
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
    return ::bind(right_to_speak_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 ||
           errno != EADDRINUSE;
}

}  // namespace headway::glue

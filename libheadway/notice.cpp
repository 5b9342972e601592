// SPDX-License-Identifier: MIT
#include "notice.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace headway::glue {

void say(const std::string& text) {
    std::string line = "headway: " + text;
    std::replace_if(line.begin(), line.end(),
                    [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    line += '\n';
    // Nothing can be done if even this fails.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
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

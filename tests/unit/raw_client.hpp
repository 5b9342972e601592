// SPDX-License-Identifier: Apache-2.0
// A client of the control socket, datagram by datagram, in the test's own thread: it
// never waits, so the server has to run between tell() and fetch().
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/file_descriptor.hpp"
#include "base/limits.hpp"

namespace headway::test {

inline FileDescriptor connect_to(const std::filesystem::path& path) {
    FileDescriptor client(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0)
        << std::strerror(errno);
    return client;
}

inline void tell(const FileDescriptor& client, const std::string& datagram) {
    ASSERT_EQ(send(client.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(datagram.size())) << std::strerror(errno);
}

/// The datagram that waits, and the descriptor that came with it; empty if there is none.
inline std::string fetch(const FileDescriptor& client, FileDescriptor* file = nullptr) {
    std::string bytes(datagram_max_bytes, '\0');
    iovec piece{bytes.data(), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(client.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    const cmsghdr* header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
        FileDescriptor received(fd);
        if (file != nullptr) *file = std::move(received);
    }
    return bytes;
}

}  // namespace headway::test

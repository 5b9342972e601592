// SPDX-License-Identifier: Apache-2.0
#include "kernel/mnl_transport.hpp"

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>

namespace headway {
namespace {

// The kernel answers within the sending system call, unless somebody else
// holds the lock of all network configuration for long.
constexpr timeval answer_deadline{.tv_sec = 2, .tv_usec = 0};

// A dump's datagrams are as large as the reader's buffer allows, up to 32 KiB.
constexpr std::size_t transport_buffer_bytes = 32768;

Result<void> set_option(mnl_socket* socket, int option, const char* name) {
    int on = 1;
    if (mnl_socket_setsockopt(socket, option, &on, sizeof(on)) == 0) return {};
    return system_failure(errno, "netlink option {}: {}", name, std::strerror(errno));
}

}  // namespace

void MnlTransport::Close::operator()(mnl_socket* socket) const { mnl_socket_close(socket); }

MnlTransport::MnlTransport(mnl_socket* socket) : socket_(socket), buffer_(transport_buffer_bytes) {}

Result<MnlTransport> MnlTransport::open(int family) {
    mnl_socket* socket = mnl_socket_open2(family, SOCK_CLOEXEC);
    if (socket == nullptr) {
        return system_failure(errno, "opening a netlink socket: {}", std::strerror(errno));
    }
    MnlTransport transport(socket);
    // libmnl reads back the port that the kernel chose.
    if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) != 0) {
        return system_failure(errno, "binding a netlink socket: {}", std::strerror(errno));
    }
    // The kernel's sentences, and refused requests not sent back.
    if (auto done = set_option(socket, NETLINK_EXT_ACK, "EXT_ACK"); !done) {
        return tl::unexpected(done.error());
    }
    if (auto done = set_option(socket, NETLINK_CAP_ACK, "CAP_ACK"); !done) {
        return tl::unexpected(done.error());
    }
    if (setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &answer_deadline,
                   sizeof(answer_deadline)) != 0) {
        return system_failure(errno, "netlink receive time-out: {}", std::strerror(errno));
    }
    return transport;
}

std::uint32_t MnlTransport::port_id() const { return mnl_socket_get_portid(socket_.get()); }

Result<void> MnlTransport::send(std::span<const std::byte> messages) {
    const ssize_t sent = mnl_socket_sendto(socket_.get(), messages.data(), messages.size());
    if (sent == static_cast<ssize_t>(messages.size())) return {};
    return system_failure(errno, "sending to the kernel: {}", std::strerror(errno));
}

Result<std::span<const std::byte>> MnlTransport::receive() {
    while (true) {
        sockaddr_nl sender{};
        iovec piece{buffer_.data(), buffer_.size()};
        msghdr message{};
        message.msg_name = &sender;
        message.msg_namelen = sizeof(sender);
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        const ssize_t received = recvmsg(mnl_socket_get_fd(socket_.get()), &message, 0);
        if (received < 0 && errno == EINTR) continue;
        if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return system_failure(ETIMEDOUT, "the kernel did not answer within {} s",
                                  answer_deadline.tv_sec);
        }
        if (received < 0) {
            return system_failure(errno, "receiving from the kernel: {}", std::strerror(errno));
        }
        // Other processes may send to this socket, too: only port 0 is the kernel.
        if (message.msg_namelen != sizeof(sender) || sender.nl_pid != 0) continue;
        if ((message.msg_flags & MSG_TRUNC) != 0) {
            return system_failure(EMSGSIZE, "an answer of the kernel is larger than {} bytes",
                                  buffer_.size());
        }
        return std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(received));
    }
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "kernel/mnl_transport.hpp"

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace headway {
namespace {

// A dump's datagrams are as large as the reader's buffer allows, up to 32 KiB.
constexpr std::size_t transport_buffer_bytes = 32768;

Result<void> set_option(mnl_socket* socket, int option, const char* name) {
    int on = 1;
    if (mnl_socket_setsockopt(socket, option, &on, sizeof(on)) == 0) return {};
    return system_failure(errno, "netlink option {}: {}", name, std::strerror(errno));
}

tl::unexpected<Error> not_open() {
    return system_failure(ENOTCONN, "the netlink socket could not be opened again");
}

/// Or the socket's error, which recvmsg() tells.
Result<void> wait_for_datagram(int fd, NetlinkTransport::Clock::time_point deadline) {
    while (true) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            deadline - NetlinkTransport::Clock::now());
        pollfd polled{fd, POLLIN, 0};
        const int ready = poll(&polled, 1, static_cast<int>(std::max<long>(left.count(), 0)));
        if (ready > 0) return {};
        if (ready < 0 && errno != EINTR) {
            return system_failure(errno, "waiting for the kernel: {}", std::strerror(errno));
        }
        if (ready == 0 && left.count() <= 0) {
            return system_failure(ETIMEDOUT, "the kernel did not answer in time");
        }
    }
}

}  // namespace

void MnlTransport::Close::operator()(mnl_socket* socket) const { mnl_socket_close(socket); }

MnlTransport::MnlTransport(int family, Socket socket, std::uint32_t port)
    : family_(family), socket_(std::move(socket)), port_(port), buffer_(transport_buffer_bytes) {}

/// Port 0 (MNL_SOCKET_AUTOPID): as the kernel chooses.
Result<MnlTransport::Socket> MnlTransport::open_socket(int family, std::uint32_t port) {
    Socket socket(mnl_socket_open2(family, SOCK_CLOEXEC));
    if (!socket) return system_failure(errno, "opening a netlink socket: {}", std::strerror(errno));
    // libmnl reads back the port that the kernel chose.
    if (mnl_socket_bind(socket.get(), 0, static_cast<pid_t>(port)) != 0) {
        return system_failure(errno, "binding a netlink socket: {}", std::strerror(errno));
    }
    // The kernel's sentences, and refused requests not sent back.
    if (auto done = set_option(socket.get(), NETLINK_EXT_ACK, "EXT_ACK"); !done) {
        return tl::unexpected(done.error());
    }
    if (auto done = set_option(socket.get(), NETLINK_CAP_ACK, "CAP_ACK"); !done) {
        return tl::unexpected(done.error());
    }
    return socket;
}

Result<MnlTransport> MnlTransport::open(int family) {
    auto socket = open_socket(family, MNL_SOCKET_AUTOPID);
    if (!socket) return tl::unexpected(socket.error());
    const std::uint32_t port = mnl_socket_get_portid(socket->get());
    return MnlTransport(family, std::move(*socket), port);
}

/// By the port others know whose changes these are (kernel_monitor.hpp).
Result<void> MnlTransport::reopen() {
    socket_.reset();
    auto socket = open_socket(family_, port_);
    if (!socket) return tl::unexpected(socket.error());
    socket_ = std::move(*socket);
    return {};
}

std::uint32_t MnlTransport::port_id() const { return port_; }

Result<void> MnlTransport::send(std::span<const std::byte> messages) {
    if (!socket_) return not_open();
    const ssize_t sent = mnl_socket_sendto(socket_.get(), messages.data(), messages.size());
    if (sent == static_cast<ssize_t>(messages.size())) return {};
    return system_failure(errno, "sending to the kernel: {}", std::strerror(errno));
}

Result<std::span<const std::byte>> MnlTransport::receive(Clock::time_point deadline) {
    if (!socket_) return not_open();
    const int fd = mnl_socket_get_fd(socket_.get());
    while (true) {
        sockaddr_nl sender{};
        iovec piece{buffer_.data(), buffer_.size()};
        msghdr message{};
        message.msg_name = &sender;
        message.msg_namelen = sizeof(sender);
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        const ssize_t received = recvmsg(fd, &message, MSG_DONTWAIT);
        if (received < 0 && errno == EAGAIN) {
            if (auto there = wait_for_datagram(fd, deadline); !there) return tl::unexpected(there.error());
            continue;
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

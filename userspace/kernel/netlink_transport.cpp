// SPDX-License-Identifier: Apache-2.0
#include "kernel/netlink_transport.hpp"

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace headway {
namespace {

// A dump's datagrams are as large as the reader's buffer allows, up to 32 KiB.
constexpr std::size_t transport_buffer_bytes = 32768;

tl::unexpected<Error> not_open() {
    return system_failure(ENOTCONN, "the netlink socket could not be opened again");
}

}  // namespace

void MnlTransport::Close::operator()(mnl_socket* socket) const { mnl_socket_close(socket); }

MnlTransport::MnlTransport(int family, std::uint32_t groups)
    : family_(family),
      groups_(groups),
      port_(MNL_SOCKET_AUTOPID),
      buffer_(transport_buffer_bytes) {}

Result<MnlTransport> MnlTransport::open(int family, std::uint32_t groups) {
    MnlTransport transport(family, groups);
    if (auto opened = transport.reopen(); !opened) return tl::unexpected(opened.error());
    return transport;
}

/// By the port others know whose changes these are (kernel_monitor.hpp); the first time it is
/// the kernel that chooses one.
Result<void> MnlTransport::reopen() {
    socket_.reset();
    Socket socket(mnl_socket_open2(family_, SOCK_CLOEXEC));
    if (!socket) return errno_failure("opening a netlink socket");
    if (mnl_socket_bind(socket.get(), groups_, static_cast<pid_t>(port_)) != 0) {
        return errno_failure("binding a netlink socket");
    }
    // The kernel's sentences, and refused requests not sent back.
    int on = 1;
    if (mnl_socket_setsockopt(socket.get(), NETLINK_EXT_ACK, &on, sizeof(on)) != 0) {
        return errno_failure("netlink option EXT_ACK");
    }
    if (mnl_socket_setsockopt(socket.get(), NETLINK_CAP_ACK, &on, sizeof(on)) != 0) {
        return errno_failure("netlink option CAP_ACK");
    }
    port_ = mnl_socket_get_portid(socket.get());
    socket_ = std::move(socket);
    return {};
}

int MnlTransport::fd() const { return mnl_socket_get_fd(socket_.get()); }

std::uint32_t MnlTransport::port_id() const { return port_; }

Result<void> MnlTransport::send(std::span<const std::byte> messages) {
    if (!socket_) return not_open();
    const ssize_t sent = mnl_socket_sendto(socket_.get(), messages.data(), messages.size());
    if (sent == static_cast<ssize_t>(messages.size())) return {};
    return errno_failure("sending to the kernel");
}

/// Until there is something to read, or the socket's error, which recvmsg() tells.
Result<void> MnlTransport::wait(Clock::time_point deadline) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return system_failure(ETIMEDOUT, "the kernel did not answer in time");
    pollfd polled{fd(), POLLIN, 0};
    const int ready = poll(&polled, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return errno_failure("waiting for the kernel");
    return {};
}

Result<std::span<const std::byte>> MnlTransport::receive(Clock::time_point deadline) {
    if (!socket_) return not_open();
    while (true) {
        sockaddr_nl sender{};
        iovec piece{buffer_.data(), buffer_.size()};
        msghdr message{};
        message.msg_name = &sender;
        message.msg_namelen = sizeof(sender);
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        const ssize_t received = recvmsg(fd(), &message, MSG_DONTWAIT);
        if (received < 0 && errno == EAGAIN) {
            if (auto waited = wait(deadline); !waited) return tl::unexpected(waited.error());
            continue;
        }
        if (received < 0) return errno_failure("receiving from the kernel");
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

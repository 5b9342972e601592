// SPDX-License-Identifier: Apache-2.0
#include "measure/measure_socket.hpp"

#include <netinet/in.h>

#include <cstring>
#include <ctime>

namespace headway {
namespace {

// Arrivals wait there until the receiving thread gets the processor.  Without the right to
// force it, the system's net.core.rmem_max bounds it.
constexpr int receive_buffer_bytes = 32 << 20;

void set(int fd, int level, int option, int value) {
    // one that the kernel refuses is done without
    static_cast<void>(::setsockopt(fd, level, option, &value, sizeof(value)));
}

}  // namespace

void tell_routes(int fd, int family) {
    if (family == AF_INET6) {
        set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
        set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
        set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, frames_hop_limit);
    } else {
        set(fd, IPPROTO_IP, IP_PKTINFO, 1);
    }
    // an IPv6 socket has these for its IPv4 peers
    set(fd, IPPROTO_IP, IP_RECVTTL, 1);
    set(fd, IPPROTO_IP, IP_TTL, frames_hop_limit);
}

Result<BoundSocket> bind_socket(SocketKind kind, std::uint16_t port) {
    const int type = kind == SocketKind::datagram ? SOCK_DGRAM : SOCK_STREAM;
    int family = AF_INET6;
    FileDescriptor fd(::socket(family, type | SOCK_CLOEXEC, 0));
    if (!fd) {
        family = AF_INET;  // a kernel without IPv6
        fd = FileDescriptor(::socket(family, type | SOCK_CLOEXEC, 0));
    }
    if (!fd) return errno_failure("socket");
    if (family == AF_INET6) set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    sockaddr_storage any{};
    any.ss_family = static_cast<sa_family_t>(family);
    socklen_t length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (family == AF_INET6) reinterpret_cast<sockaddr_in6*>(&any)->sin6_port = htons(port);
    else reinterpret_cast<sockaddr_in*>(&any)->sin_port = htons(port);
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&any), length) != 0)
        return errno_failure(fmt::format("port {}", port));
    if (kind == SocketKind::datagram) {
        set(fd.get(), SOL_SOCKET, SO_TIMESTAMPNS, 1);
        set(fd.get(), SOL_SOCKET, SO_RXQ_OVFL, 1);
        // the address that was asked, of a host that has several, is the one to answer from
        tell_routes(fd.get(), family);
        set(fd.get(), SOL_SOCKET, SO_RCVBUF, receive_buffer_bytes);
        set(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, receive_buffer_bytes);
    } else if (::listen(fd.get(), SOMAXCONN) != 0) {
        return errno_failure("listen");
    }
    if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&any), &length) != 0)
        return errno_failure("getsockname");
    const auto bound = any.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&any)->sin6_port
                                                 : reinterpret_cast<sockaddr_in*>(&any)->sin_port;
    return BoundSocket{std::move(fd), ntohs(bound)};
}

std::int64_t arrival_clock_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace headway

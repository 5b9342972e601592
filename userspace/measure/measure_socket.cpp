// SPDX-License-Identifier: Apache-2.0
#include "measure/measure_socket.hpp"

#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <cstring>
#include <ctime>
#include <memory>

namespace headway {
namespace {

// Arrivals wait there until the receiving thread gets the processor.  Without the right to
// force it, the system's net.core.rmem_max bounds it.
constexpr int receive_buffer_bytes = 32 << 20;

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<AddressList> look_up(const std::string& name, const std::string& port, int flags) {
    addrinfo hints{};
    hints.ai_flags = flags;
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    const int status = ::getaddrinfo(name.c_str(), port.c_str(), &hints, &found);
    if (status != 0) return failure("\"{}\" has no address: {}", name, ::gai_strerror(status));
    return AddressList(found, ::freeaddrinfo);
}

void set(int fd, int level, int option, int value) {
    // one that the kernel refuses is done without
    static_cast<void>(::setsockopt(fd, level, option, &value, sizeof(value)));
}

}  // namespace

Result<std::string> resolve_host(const std::string& name) {
    const auto found = look_up(name, "0", AI_ADDRCONFIG);
    if (!found) return tl::unexpected(found.error());
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo((*found)->ai_addr, (*found)->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0)
        return failure("the address of \"{}\" cannot be read", name);
    return std::string(text.data());
}

Result<SocketAddress> socket_address(const std::string& address, std::uint16_t port) {
    const auto found = look_up(address, std::to_string(port), AI_NUMERICHOST | AI_NUMERICSERV);
    if (!found) return tl::unexpected(found.error());
    SocketAddress result;
    std::memcpy(&result.storage, (*found)->ai_addr, (*found)->ai_addrlen);
    result.length = (*found)->ai_addrlen;
    return result;
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
        if (family == AF_INET6) set(fd.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
        else set(fd.get(), IPPROTO_IP, IP_PKTINFO, 1);
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

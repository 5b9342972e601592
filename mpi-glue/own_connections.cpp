// SPDX-License-Identifier: MIT
#include "own_connections.hpp"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "kernel/tcp_counters.hpp"

namespace headway::glue {
namespace {

/// Longer than any kernel's.
constexpr std::size_t tcp_info_bytes_max = 1024;

bool is_tcp(int descriptor) {
    int protocol = 0;
    socklen_t length = sizeof(protocol);
    return ::getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 &&
           protocol == IPPROTO_TCP;
}

/// Empty: it is not connected.
Address other_end_of(int socket) {
    sockaddr_storage address{};
    socklen_t length = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    return ::getpeername(socket, generic, &length) == 0 ? text_of(*generic) : "";
}

ConnectionCounters counters_of(int socket) {
    std::array<std::byte, tcp_info_bytes_max> info{};
    socklen_t length = info.size();
    if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, info.data(), &length) != 0) return {};
    const TcpInfoCounts counts = counts_in(std::span(info).first(length));
    return {1, counts.needed_retransmissions(), counts.timeouts};
}

}  // namespace

/// By opendir(): std::filesystem ends the process where there is no memory for the next entry.
ConnectionCounters count_own_connections(const std::set<Address>& others) {
    ConnectionCounters all;
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir("/proc/self/fd"), ::closedir);
    while (const dirent* const entry = open ? ::readdir(open.get()) : nullptr) {
        const std::string_view name = entry->d_name;
        int descriptor = -1;
        std::from_chars(name.data(), name.data() + name.size(), descriptor);
        if (is_tcp(descriptor) && others.contains(other_end_of(descriptor)))
            all.add(counters_of(descriptor));
    }
    return all;
}

}  // namespace headway::glue

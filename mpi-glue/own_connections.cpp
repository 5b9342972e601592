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

#include "look/tcp_counters.hpp"
#include "unique_fd.hpp"

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

/// By opendir(): std::filesystem ends the process where there is no memory for the next entry.
void for_each_tcp_socket(const auto& act) {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir("/proc/self/fd"), ::closedir);
    while (const dirent* const entry = open ? ::readdir(open.get()) : nullptr) {
        const std::string_view name = entry->d_name;
        int descriptor = -1;
        std::from_chars(name.data(), name.data() + name.size(), descriptor);
        if (is_tcp(descriptor)) act(descriptor);
    }
}

/// Of linux/tcp.h, from Linux 6.15 on.
constexpr int rto_min_us = 45, delack_max_us = 46;

/// The first is the shortest of a kernel with 250 ticks a second, which is two of them.  One with 1000
/// takes less; but a processor that is busy elsewhere for that long must not look like a loss.
constexpr std::array waits_us{8000, 20000};

}  // namespace

ConnectionCounters count_own_connections(const std::set<Address>& others) {
    ConnectionCounters all;
    for_each_tcp_socket([&](int socket) {
        if (others.contains(other_end_of(socket))) all.add(counters_of(socket));
    });
    return all;
}

bool set_socket_time(int socket, int option, int us) {
    return ::setsockopt(socket, IPPROTO_TCP, option, &us, sizeof(us)) == 0;
}

std::optional<int> shortest_wait_us(const SetSocketTime& set) {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    for (const int us : waits_us) {
        if (set(socket.get(), rto_min_us, us) && set(socket.get(), delack_max_us, us)) return us;
    }
    return std::nullopt;
}

std::set<int> own_tcp_sockets() {
    std::set<int> sockets;
    for_each_tcp_socket([&](int socket) { sockets.insert(socket); });
    return sockets;
}

int shorten_waits(const std::set<Address>& others, const std::set<int>& spared, int us,
                  const SetSocketTime& set) {
    int shortened = 0;
    for_each_tcp_socket([&](int socket) {
        if (spared.contains(socket) || !others.contains(other_end_of(socket))) return;
        if (set(socket, delack_max_us, us) && set(socket, rto_min_us, us)) ++shortened;
    });
    return shortened;
}

}  // namespace headway::glue

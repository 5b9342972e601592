// SPDX-License-Identifier: Apache-2.0
// Socket diagnosis: as messages, and of a connection of this process.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/file_descriptor.hpp"
#include "kernel/netlink_exchange.hpp"
#include "look/tcp_sockets.hpp"

namespace headway::test {
namespace {

/// A connection as the kernel tells of it, with so many bytes of tcp_info.
class Told {
public:
    Told(int family, const char* remote, std::size_t info_bytes) {
        nlmsghdr* header = mnl_nlmsg_put_header(bytes_.data());
        header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
        auto* socket =
            static_cast<inet_diag_msg*>(mnl_nlmsg_put_extra_header(header, sizeof(inet_diag_msg)));
        socket->idiag_family = static_cast<std::uint8_t>(family);
        socket->id.idiag_cookie[0] = 0x89abcdef;
        socket->id.idiag_cookie[1] = 0x01234567;
        inet_pton(family, remote, socket->id.idiag_dst);
        tcp_info info{};
        info.tcpi_data_segs_out = 1'000;
        info.tcpi_total_retrans = 12;
        info.tcpi_rtt = 340;
        info.tcpi_dsack_dups = 3;
        info.tcpi_bytes_acked = 700'000;
        info.tcpi_snd_mss = 1'448;
        info.tcpi_busy_time = 90'000;
        info.tcpi_rwnd_limited = 60'000;
        info.tcpi_sndbuf_limited = 20'000;
        std::array<std::byte, 280> payload{};
        std::memcpy(payload.data(), &info, sizeof(info));
        payload[240] = std::byte{5};
        mnl_attr_put(header, INET_DIAG_INFO, info_bytes, payload.data());
    }
    [[nodiscard]] nlmsghdr* message() { return reinterpret_cast<nlmsghdr*>(bytes_.data()); }

private:
    alignas(4) std::array<char, 1024> bytes_{};
};

// 232 bytes of tcp_info on Linux 6.1, 248 since 6.7.
TEST(TcpSockets, TimeoutsAreToldBySocketWhereTheKernelCountsThem) {
    Told older(AF_INET, "10.1.0.3", 232);
    EXPECT_EQ(decode_tcp_flow(older.message()),
              (TcpFlow{{1'000, 12, std::nullopt, 340, 3, 700'000, 1'448, 90'000, 60'000, 20'000},
                       0x0123456789abcdef, *parse_ip_prefix("10.1.0.3")}));
    Told newer(AF_INET6, "fd00:1::3", 248);
    EXPECT_EQ(decode_tcp_flow(newer.message()),
              (TcpFlow{{1'000, 12, 5, 340, 3, 700'000, 1'448, 90'000, 60'000, 20'000},
                       0x0123456789abcdef, *parse_ip_prefix("fd00:1::3")}));
}

TEST(TcpSockets, AnIPv4AddressOfASocketForBothIsOne) {
    Told mapped(AF_INET6, "::ffff:10.1.0.3", 232);
    EXPECT_EQ(decode_tcp_flow(mapped.message())->remote, *parse_ip_prefix("10.1.0.3"));
}

TEST(TcpSockets, WhatIsCutOffTellsNothing) {
    Told old_kernel(AF_INET, "10.1.0.3", 100);
    EXPECT_EQ(decode_tcp_flow(old_kernel.message())->segments, 0U);
    Told told(AF_INET, "10.1.0.3", 232);
    told.message()->nlmsg_len = NLMSG_LENGTH(sizeof(inet_diag_msg)) - 1;
    EXPECT_FALSE(decode_tcp_flow(told.message()));
    told.message()->nlmsg_len = NLMSG_LENGTH(sizeof(inet_diag_msg));
    EXPECT_FALSE(decode_tcp_flow(told.message())) << "no counters";
    Told other(AF_UNIX, "", 232);
    EXPECT_FALSE(decode_tcp_flow(other.message()));
}

FileDescriptor tcp_socket(int family) { return FileDescriptor(socket(family, SOCK_STREAM, 0)); }

/// Sends segments of its own over the loopback and looks for them.
void find_own_connection(int family, const sockaddr* loopback, socklen_t length) {
    const FileDescriptor listener = tcp_socket(family);
    ASSERT_EQ(bind(listener.get(), loopback, length), 0) << std::strerror(errno);
    ASSERT_EQ(listen(listener.get(), 1), 0);
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    const FileDescriptor client = tcp_socket(family);
    ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(send(client.get(), "x", 1, 0), 1);
    std::uint64_t cookie = 0;
    size = sizeof(cookie);
    ASSERT_EQ(getsockopt(client.get(), SOL_SOCKET, SO_COOKIE, &cookie, &size), 0);

    auto transport = MnlTransport::open(NETLINK_SOCK_DIAG);
    ASSERT_TRUE(transport) << transport.error().message;
    const auto flows = read_tcp_flows(*transport);
    ASSERT_TRUE(flows) << flows.error().message;
    const auto own = std::find_if(flows->begin(), flows->end(),
                                  [&](const TcpFlow& one) { return one.cookie == cookie; });
    ASSERT_NE(own, flows->end());
    EXPECT_EQ(own->segments, 1U);
    EXPECT_EQ(own->retransmissions, 0U);
    EXPECT_EQ(own->remote, *parse_ip_prefix("127.0.0.1"));

    // The kernel looks only for those that go to one of the destinations.
    const auto finds = [&](const std::vector<const char*>& texts) {
        std::vector<IpPrefix> destinations;
        for (const char* text : texts) destinations.push_back(*parse_ip_prefix(text));
        const auto found = read_tcp_flows(*transport, destinations);
        EXPECT_TRUE(found) << found.error().message;
        return std::ranges::count(*found, cookie, &TcpFlow::cookie);
    };
    EXPECT_EQ(finds({"127.0.0.0/8"}), 1);
    EXPECT_EQ(finds({"10.9.0.0/16"}), 0);
    EXPECT_EQ(finds({"127.0.0.1", "10.9.0.0/16", "fd00::/64"}), 1);
    EXPECT_EQ(finds({"fd00::/64", "10.9.0.0/16", "127.0.0.0/9"}), 1);
    EXPECT_EQ(finds({"fd00::/64", "10.9.0.0/16", "127.128.0.0/9"}), 0);
    EXPECT_EQ(finds(std::vector<const char*>(200, "10.9.0.0/16")), 0);
    EXPECT_EQ(finds(std::vector<const char*>(300, "10.9.0.0/16")), 1) << "too many to filter by";
}

TEST(TcpSockets, AConnectionOfASocketForBothFamiliesIsFoundByItsIPv4Address) {
    const FileDescriptor listener = tcp_socket(AF_INET);
    sockaddr_in loopback{};
    loopback.sin_family = AF_INET;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(loopback);
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&loopback), size), 0);
    ASSERT_EQ(listen(listener.get(), 1), 0);
    ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&loopback), &size), 0);
    sockaddr_in6 mapped{};
    mapped.sin6_family = AF_INET6;
    mapped.sin6_port = loopback.sin_port;
    ASSERT_EQ(inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr), 1);
    const FileDescriptor client = tcp_socket(AF_INET6);
    if (!client) GTEST_SKIP() << "without IPv6";
    ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&mapped), sizeof(mapped)), 0);
    std::uint64_t cookie = 0;
    size = sizeof(cookie);
    ASSERT_EQ(getsockopt(client.get(), SOL_SOCKET, SO_COOKIE, &cookie, &size), 0);
    auto transport = MnlTransport::open(NETLINK_SOCK_DIAG);
    ASSERT_TRUE(transport) << transport.error().message;
    for (const auto& [text, found] : {std::pair("127.0.0.0/8", 1), std::pair("10.9.0.0/16", 0)}) {
        const auto prefix = *parse_ip_prefix(text);
        const auto flows = read_tcp_flows(*transport, std::span(&prefix, 1));
        ASSERT_TRUE(flows) << flows.error().message;
        EXPECT_EQ(std::ranges::count(*flows, cookie, &TcpFlow::cookie), found) << text;
    }
}

TEST(TcpSockets, FindsAConnectionOfThisProcess) {
    sockaddr_in loopback{};
    loopback.sin_family = AF_INET;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    find_own_connection(AF_INET, reinterpret_cast<sockaddr*>(&loopback), sizeof(loopback));
}

}  // namespace
}  // namespace headway::test

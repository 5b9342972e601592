// SPDX-License-Identifier: Apache-2.0
#include "kernel/tcp_sockets.hpp"

#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernel/netlink_attributes.hpp"
#include "kernel/netlink_exchange.hpp"
#include "kernel/tcp_info.hpp"

namespace headway {
namespace {

// TCP's states, which the kernel's interface for programs does not name.
enum TcpState : unsigned { established = 1, fin_wait_1 = 4, close_wait = 8, last_ack = 9, closing = 11 };
constexpr std::uint32_t states_that_send = 1U << established | 1U << fin_wait_1 | 1U << close_wait |
                                           1U << last_ack | 1U << closing;

/// An IPv4 address may be one of a socket for both families.
IpPrefix address_of(const inet_diag_msg& socket) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(socket.id.idiag_dst);
    IpPrefix address;
    constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (socket.idiag_family == AF_INET6 && std::equal(mapped.begin(), mapped.end(), bytes)) {
        std::copy_n(bytes + mapped.size(), 4, address.address.begin());
        address.length_bits = 32;
    } else {
        address.family = socket.idiag_family == AF_INET6 ? IpFamily::v6 : IpFamily::v4;
        std::copy_n(bytes, address.address_bytes(), address.address.begin());
        address.length_bits = static_cast<std::uint8_t>(8 * address.address_bytes());
    }
    return address;
}

void read_counters(TcpFlow& flow, const nlattr* info) {
    const TcpInfoCounts counts =
        counts_in({static_cast<const std::byte*>(mnl_attr_get_payload(info)),
                   mnl_attr_get_payload_len(info)});
    flow.segments = counts.segments;
    flow.retransmissions = counts.retransmissions;
    flow.timeouts = counts.timeouts;
    flow.rtt_us = counts.rtt_us;
}

}  // namespace

NetlinkMessage encode_tcp_dump(IpFamily family) {
    NetlinkMessage message;
    nlmsghdr* header = mnl_nlmsg_put_header(message.header());
    header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    auto* request =
        static_cast<inet_diag_req_v2*>(mnl_nlmsg_put_extra_header(header, sizeof(inet_diag_req_v2)));
    request->sdiag_family = family == IpFamily::v4 ? AF_INET : AF_INET6;
    request->sdiag_protocol = IPPROTO_TCP;
    request->idiag_ext = 1U << (INET_DIAG_INFO - 1);
    request->idiag_states = states_that_send;
    return message;
}

std::optional<TcpFlow> decode_tcp_flow(const nlmsghdr* message) {
    if (message->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        message->nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg))) {
        return std::nullopt;
    }
    inet_diag_msg socket{};
    std::memcpy(&socket, mnl_nlmsg_get_payload(message), sizeof(socket));
    if (socket.idiag_family != AF_INET && socket.idiag_family != AF_INET6) return std::nullopt;
    std::optional<TcpFlow> flow;
    for_each_attribute(message, sizeof(socket), [&](const nlattr* attribute) {
        if (mnl_attr_get_type(attribute) != INET_DIAG_INFO) return;
        flow.emplace();
        flow->cookie = std::uint64_t{socket.id.idiag_cookie[1]} << 32U | socket.id.idiag_cookie[0];
        flow->remote = address_of(socket);
        read_counters(*flow, attribute);
    });
    return flow;
}

Result<std::vector<TcpFlow>> read_tcp_flows(NetlinkTransport& transport) {
    NetlinkExchange exchange(transport);
    std::vector<TcpFlow> all;
    for (const IpFamily family : {IpFamily::v4, IpFamily::v6}) {
        const std::size_t before = all.size();
        const auto read = exchange.query(
            encode_tcp_dump(family), [&] { all.resize(before); },
            [&](const nlmsghdr* message) -> Result<void> {
                if (auto flow = decode_tcp_flow(message)) all.push_back(std::move(*flow));
                return {};
            });
        // a kernel without IPv6 has no such connections
        const bool has_none = family == IpFamily::v6 && !read && read.error().error_number == ENOENT;
        if (!read && !has_none) return tl::unexpected(read.error());
    }
    return all;
}

}  // namespace headway

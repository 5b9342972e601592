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

namespace headway {
namespace {

// TCP's states, which the kernel's interface for programs does not name.
enum TcpState : unsigned { established = 1, fin_wait_1 = 4, close_wait = 8, last_ack = 9, closing = 11 };
constexpr std::uint32_t states_that_send = 1U << established | 1U << fin_wait_1 | 1U << close_wait |
                                           1U << last_ack | 1U << closing;

/// An IPv4 address may be one of a socket for both families.
IpPrefix address_of(const inet_diag_msg& socket) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(socket.id.idiag_dst);
    constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    const bool is_v6 = socket.idiag_family == AF_INET6;
    const bool is_mapped = is_v6 && std::equal(mapped.begin(), mapped.end(), bytes);
    IpPrefix address{.family = is_v6 && !is_mapped ? IpFamily::v6 : IpFamily::v4};
    address.length_bits = static_cast<std::uint8_t>(8 * address.address_bytes());
    std::copy_n(is_mapped ? bytes + mapped.size() : bytes, address.address_bytes(),
                address.address.begin());
    return address;
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
    const auto at = attribute_table<INET_DIAG_MAX>(attributes_of(message, sizeof(socket)));
    if (at[INET_DIAG_INFO] == nullptr) return std::nullopt;
    return TcpFlow{counts_in(attribute_bytes(at[INET_DIAG_INFO])),
                   std::uint64_t{socket.id.idiag_cookie[1]} << 32U | socket.id.idiag_cookie[0],
                   address_of(socket)};
}

Result<std::vector<TcpFlow>> read_tcp_flows(NetlinkTransport& transport) {
    NetlinkExchange exchange(transport);
    std::vector<TcpFlow> all;
    for (const IpFamily family : {IpFamily::v4, IpFamily::v6}) {
        const auto flows = exchange.query<TcpFlow>(encode_tcp_dump(family), decode_tcp_flow);
        // a kernel without IPv6 has no such connections
        if (!flows && family == IpFamily::v6 && flows.error().error_number == ENOENT) continue;
        if (!flows) return tl::unexpected(flows.error());
        all.insert(all.end(), flows->begin(), flows->end());
    }
    return all;
}

}  // namespace headway

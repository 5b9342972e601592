// SPDX-License-Identifier: Apache-2.0
#include "look/tcp_sockets.hpp"

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

/// Operations of socket diagnosis (linux/inet_diag.h), which the kernel runs for each connection.  One
/// goes on `yes` or `no` bytes further; who comes to the very end is told, who goes beyond it is not.
class DestinationFilter {
public:
    /// One condition for each, with a jump to the end behind it.
    explicit DestinationFilter(std::span<const IpPrefix> destinations) {
        std::size_t left = 0;
        for (const IpPrefix& one : destinations) left += condition_bytes(one) + sizeof(inet_diag_bc_op);
        if (left == 0 || left > most_bytes) return;
        left -= sizeof(inet_diag_bc_op);  // the last one's jump
        for (const IpPrefix& one : destinations) {
            const std::size_t own = condition_bytes(one);
            const bool is_last = left == own;
            put(inet_diag_bc_op{INET_DIAG_BC_D_COND, static_cast<std::uint8_t>(own),
                                static_cast<std::uint16_t>(own + sizeof(inet_diag_bc_op))});
            inet_diag_hostcond condition{};
            condition.family = one.family == IpFamily::v4 ? AF_INET : AF_INET6;
            condition.prefix_len = one.length_bits;
            condition.port = any_port;
            put(condition);
            bytes_.insert(bytes_.end(), one.address.begin(),
                          one.address.begin() + static_cast<std::ptrdiff_t>(one.address_bytes()));
            left -= own;
            if (is_last) return;
            put(inet_diag_bc_op{INET_DIAG_BC_JMP, sizeof(inet_diag_bc_op), static_cast<std::uint16_t>(left)});
            left -= sizeof(inet_diag_bc_op);
        }
    }
    /// Empty: there is no filter.
    [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }

private:
    static constexpr std::size_t most_bytes = 4096;
    static constexpr int any_port = -1;

    static std::size_t condition_bytes(const IpPrefix& prefix) {
        return sizeof(inet_diag_bc_op) + sizeof(inet_diag_hostcond) + prefix.address_bytes();
    }
    template <class Structure>
    void put(const Structure& one) {
        const auto* const first = reinterpret_cast<const std::uint8_t*>(&one);
        bytes_.insert(bytes_.end(), first, first + sizeof(one));
    }

    std::vector<std::uint8_t> bytes_;
};

}  // namespace

NetlinkMessage encode_tcp_dump(IpFamily family, std::span<const IpPrefix> destinations) {
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
    const DestinationFilter filter(destinations);
    if (!filter.bytes().empty()) {
        mnl_attr_put(header, INET_DIAG_REQ_BYTECODE, filter.bytes().size(), filter.bytes().data());
    }
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

Result<std::vector<TcpFlow>> read_tcp_flows(NetlinkTransport& transport,
                                            std::span<const IpPrefix> destinations) {
    NetlinkExchange exchange(transport);
    std::vector<TcpFlow> all;
    for (const IpFamily family : {IpFamily::v4, IpFamily::v6}) {
        const auto flows = exchange.query<TcpFlow>(encode_tcp_dump(family, destinations), decode_tcp_flow);
        // a kernel without IPv6 has no such connections
        if (!flows && family == IpFamily::v6 && flows.error().error_number == ENOENT) continue;
        if (!flows) return tl::unexpected(flows.error());
        all.insert(all.end(), flows->begin(), flows->end());
    }
    return all;
}

}  // namespace headway

// SPDX-License-Identifier: Apache-2.0
#include "look/netlink_route.hpp"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <array>
#include <fstream>

#include "network/topology.hpp"

namespace headway {
namespace {

std::optional<unsigned> decode_interface(const nlmsghdr* message) {
    const auto route = route_attributes(message);
    return route ? std::optional(attribute_u32((*route)[RTA_OIF])) : std::nullopt;
}

/// 0: the route has none.
std::optional<double> decode_rto_min_s(const nlmsghdr* message) {
    const auto route = route_attributes(message);
    if (!route || static_cast<const rtmsg*>(mnl_nlmsg_get_payload(message))->rtm_type == RTN_LOCAL) return std::nullopt;
    return attribute_u32(attribute_table<RTAX_MAX>(attribute_bytes((*route)[RTA_METRICS]))[RTAX_RTO_MIN]) * 1e-3;
}

double system_rto_min_s() {
    double us = 0;
    std::ifstream("/proc/sys/net/ipv4/tcp_rto_min_us") >> us;
    return us > 0 ? us * 1e-6 : rto_default_s;
}

}  // namespace

std::optional<AttributeTable<RTA_MAX>> route_attributes(const nlmsghdr* message) {
    if (message->nlmsg_type != RTM_NEWROUTE || message->nlmsg_len < NLMSG_LENGTH(sizeof(rtmsg))) return std::nullopt;
    return attribute_table<RTA_MAX>(attributes_of(message, sizeof(rtmsg)));
}

Result<NetlinkMessage> encode_route_query(const std::string& address) {
    std::array<std::byte, sizeof(in6_addr)> bytes{};
    const bool is_v6 = address.find(':') != std::string::npos;
    if (::inet_pton(is_v6 ? AF_INET6 : AF_INET, address.c_str(), bytes.data()) != 1) {
        return failure("{} is no address that can be asked for", address);
    }
    NetlinkMessage message;
    nlmsghdr* header = mnl_nlmsg_put_header(message.header());
    header->nlmsg_type = RTM_GETROUTE;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    auto* route = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(rtmsg)));
    route->rtm_family = is_v6 ? AF_INET6 : AF_INET;
    route->rtm_dst_len = is_v6 ? 128 : 32;
    mnl_attr_put(header, RTA_DST, is_v6 ? sizeof(in6_addr) : sizeof(in_addr), bytes.data());
    return message;
}

std::string interface_towards(NetlinkExchange& kernel, const std::string& address) {
    const auto query = encode_route_query(address);
    if (!query) return "";
    const auto found = kernel.query<unsigned>(*query, decode_interface);
    return found && !found->empty() ? interface_name(found->back()) : "";
}

std::optional<double> least_timeout_s(NetlinkExchange& kernel, IpPrefix prefix) {
    const std::size_t last = prefix.address_bytes() - 1;
    if (prefix.length_bits < 8 * last + 7) prefix.address[last] |= 1;  // the block's own address is no host's
    const std::string block = prefix.to_string();
    const auto query = encode_route_query(block.substr(0, block.find('/')));
    if (!query) return std::nullopt;
    const auto found = kernel.query<double>(*query, decode_rto_min_s);
    if (!found || found->empty()) return std::nullopt;
    return found->back() > 0 ? found->back() : system_rto_min_s();
}

std::string interface_name(unsigned ifindex) {
    std::array<char, IF_NAMESIZE> name{};
    return ::if_indextoname(ifindex, name.data()) == nullptr ? "" : name.data();
}

}  // namespace headway

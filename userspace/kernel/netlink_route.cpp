// SPDX-License-Identifier: Apache-2.0
#include "kernel/netlink_route.hpp"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <array>
#include <optional>

#include "kernel/netlink_attributes.hpp"

namespace headway {
namespace {

std::optional<unsigned> decode_interface(const nlmsghdr* message) {
    if (message->nlmsg_type != RTM_NEWROUTE || message->nlmsg_len < NLMSG_LENGTH(sizeof(rtmsg))) return std::nullopt;
    return attribute_u32(attribute_table<RTA_MAX>(attributes_of(message, sizeof(rtmsg)))[RTA_OIF]);
}

}  // namespace

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

std::string interface_name(unsigned ifindex) {
    std::array<char, IF_NAMESIZE> name{};
    return ::if_indextoname(ifindex, name.data()) == nullptr ? "" : name.data();
}

}  // namespace headway

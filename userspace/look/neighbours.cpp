// SPDX-License-Identifier: Apache-2.0
#include "look/neighbours.hpp"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <array>

#include "kernel/netlink_attributes.hpp"

namespace headway {

NetlinkMessage encode_neighbour_dump() {
    NetlinkMessage message;
    nlmsghdr* header = mnl_nlmsg_put_header(message.header());
    header->nlmsg_type = RTM_GETNEIGH;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    mnl_nlmsg_put_extra_header(header, sizeof(ndmsg));
    return message;
}

std::optional<Neighbour> decode_neighbour(const nlmsghdr* message) {
    if (message->nlmsg_type != RTM_NEWNEIGH || message->nlmsg_len < NLMSG_LENGTH(sizeof(ndmsg))) return std::nullopt;
    const auto* about = static_cast<const ndmsg*>(mnl_nlmsg_get_payload(message));
    const auto address = attribute_bytes(attribute_table<NDA_MAX>(attributes_of(message, sizeof(ndmsg)))[NDA_DST]);
    const bool is_v4 = about->ndm_family == AF_INET && address.size() == sizeof(in_addr);
    if (!is_v4 && (about->ndm_family != AF_INET6 || address.size() != sizeof(in6_addr))) return std::nullopt;
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(about->ndm_family, address.data(), text.data(), text.size());
    return Neighbour{about->ndm_ifindex, text.data(), (about->ndm_state & (NUD_INCOMPLETE | NUD_FAILED)) == 0};
}

bool is_without_answer(NetlinkExchange& kernel, const std::string& interface, const std::string& address) {
    const auto known = kernel.query<Neighbour>(encode_neighbour_dump(), decode_neighbour);
    const auto ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
    return known && std::ranges::any_of(*known, [&](const Neighbour& one) {
        return one.ifindex == ifindex && one.address == address && !one.has_answered;
    });
}

}  // namespace headway
